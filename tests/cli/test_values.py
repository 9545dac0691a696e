"""Values of options: sizes of hidden layers, as people write them."""

from functools import partial

import pytest

from tests.cli.command import cli, strict

QUICK = ("--iterations", "2")
cli = partial(cli, "train")


@pytest.fixture
def refused(refused):
    """All that `minisig train` says."""
    return lambda code, *args: refused(code, "train", *args)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("800", [800]),
        ("30,20,10", [30, 20, 10]),
        ("3x20", [20, 20, 20]),
        ("3×20", [20, 20, 20]),
        ("2x5,7", [5, 5, 7]),
        ("7,2x5,1x3", [7, 5, 5, 3]),
        ("30, 20", [30, 20]),
        ("1", [1]),
    ],
)
def test_hidden_sizes_are_read(here, text, sizes):
    assert cli("xor", *QUICK, "--hidden", text, "--out", "run").exit_code == 0
    assert strict((here / "run" / "config.json").read_text())["network"]["hidden"] == sizes


NO_SIZES = ["", " ", "0", "-1", "1.5", "1e3", "nan", "abc", "10,", ",10", "10,,20", "10;20", "99999999999"]
NO_REPEATS = ["x", "3x", "x3", "3x0", "0x3", "-3x2", "3x-2", "3x4x5", "99999999999x1"]


@pytest.mark.parametrize("text", NO_SIZES + NO_REPEATS)
def test_nonsense_for_hidden_sizes_is_answered_with_an_example(refused, text):
    assert "8x100" in refused(2, "xor", *QUICK, "--hidden", text)
