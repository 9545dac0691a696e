"""Mistakes: the exit code of each, and messages of one line that say what came and what to do."""

import errno
import os
import signal
from pathlib import Path

import pytest

from minisig.errors import (
    MAX_MESSAGE,
    BackendUnavailable,
    DataError,
    Diverged,
    Interrupted,
    MinisigError,
    OutOfMemory,
    UsageError,
    one_line,
    printable,
    require_known,
    writing,
)


def test_every_mistake_is_a_minisig_error_with_an_exit_code_of_its_own():
    raised = [UsageError("x"), BackendUnavailable("x"), Diverged("x"), DataError("x"), Interrupted("x", signal.SIGTERM)]
    assert [error.exit_code for error in raised] == [2, 3, 4, 5, 143]
    assert MinisigError("x").exit_code == OutOfMemory().exit_code == 1
    assert all(isinstance(error, MinisigError) for error in (*raised, OutOfMemory()))


@pytest.mark.parametrize("error", [UsageError, DataError])
def test_wrong_values_are_value_errors_to_whoever_knows_no_other(error):
    with pytest.raises(ValueError, match="too many"):
        raise error("too many")


@pytest.mark.parametrize("text", ["a\tb", "a\rb", "a\x07b", "a\x9b31mb", "a\u202eb", "a\u2028b"])
def test_what_would_command_a_terminal_is_spelt_out(text):
    assert printable(text).isprintable()
    assert printable(text) == text.encode("unicode_escape").decode()


def test_a_message_is_short_and_harmless_whatever_name_it_holds():
    said = str(DataError(f"mine.csv: no column {'x' * 10**6}\x1b[31m; there are a, b"))
    assert said.isprintable()
    assert len(said) == MAX_MESSAGE
    assert said.startswith("mine.csv: no column xxx")
    assert said.endswith("\\x1b[31m; there are a, b")
    assert str(DataError("two lines:\n  of mirrors")) == "two lines:\n  of mirrors"


def test_what_is_meant_to_be_seen_stays_as_it_is():
    assert printable("σ ≤ 1,\nnaïve '\\n'") == "σ ≤ 1,\nnaïve '\\n'"


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (OSError(None, "the header is too large"), "the header is too large"),
        (OSError("gone"), "gone"),
    ],
)
def test_what_the_disk_refuses_names_the_place(refusal, words):
    with (
        pytest.raises(MinisigError, match=f"^cannot write to some/run: .*{words}") as caught,
        writing(Path("some/run")),
    ):
        raise refusal
    assert caught.value.exit_code == 1


def test_what_is_no_fault_of_the_disk_passes():
    with pytest.raises(UsageError, match=r"^already there$"), writing(Path("some/run")):
        raise UsageError("already there")


def test_what_another_library_says_is_cut_to_one_line():
    assert one_line(ValueError("first\n   second\tthird\n")) == "first second third"
    assert one_line(ValueError("word " * 100)) == ("word " * 40)[:200]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adan", "unknown optimizer 'adan'. Did you mean 'adam'? Choose from: momentum, adam."),
        ("ADAM", "unknown optimizer 'ADAM'. Did you mean 'adam'? Choose from: momentum, adam."),
        ("lbfgs", "unknown optimizer 'lbfgs'. Choose from: momentum, adam."),
        (None, "unknown optimizer 'None'. Choose from: momentum, adam."),
        ("x" * 1000, f"unknown optimizer '{'x' * 60}'. Choose from: momentum, adam."),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_and_all_known_ones(name, message):
    with pytest.raises(UsageError) as caught:
        require_known("optimizer", name, ("momentum", "adam"))
    assert str(caught.value) == message


def test_a_known_name_is_taken():
    require_known("optimizer", "adam", ("momentum", "adam"))
