"""minisig train, signalled: it saves where it stands, goes on to the same bits, and no two processes share a run."""

import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from minisig.training.files import read_tensors
from tests.cli.command import cli, python_m
from tests.faults.runs import KINDS, difference, kind, options, outcome, signalled, standing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143}
cli = partial(cli, "train")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_signalled_run_is_saved_says_how_to_go_on_and_then_ends_with_the_same_bits(here, name, number):
    wanted = options(name, here)
    assert cli(*wanted, "--out", "straight").exit_code == 0
    with signalled(number, 8):
        handlers = [signal.getsignal(known) for known in ENDS]
        result = cli(*wanted, "--out", "my run")
        assert [signal.getsignal(known) for known in ENDS] == handlers
    assert (result.exit_code, result.stdout) == (ENDS[number], "")
    assert result.stderr.startswith("Error: stopped after iteration 8; go on with: minisig train --resume ")
    assert result.stderr.count("\n") == 1
    assert standing(kind(name, here / "words"), here / "my run") == 8
    result = cli(*shlex.split(result.stderr.partition("minisig train ")[2]))
    assert result.exit_code == 0, result.stderr
    assert "saved in my run" in result.stdout
    assert difference(here / "my run", outcome(here / "straight")) == ""


def test_a_signal_in_the_last_iteration_comes_too_late(here):
    with signalled(signal.SIGINT, 20):
        assert cli(*options("xor", here), "--out", "run").exit_code == 0
    assert (here / "run" / "summary.json").exists()


def test_signals_are_as_they_were_after_a_run(here):
    before = [signal.getsignal(number) for number in ENDS]
    assert cli("xor", "--iterations", 2).exit_code == 0
    assert [signal.getsignal(number) for number in ENDS] == before


def test_a_resumed_run_is_saved_on_a_signal_as_well(here):
    wanted = options("lstm", here)
    cli(*wanted, "--out", "straight")
    for iteration in (5, 6, 13):
        with signalled(signal.SIGTERM, iteration):
            result = cli(*(wanted if iteration == 5 else []), "--out" if iteration == 5 else "--resume", "run")
        assert result.exit_code == 143
        assert f"after iteration {iteration};" in result.stderr
    cli("--resume", "run")
    assert difference(here / "run", outcome(here / "straight")) == ""


FOREGROUND = """
import signal
from minisig.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell takes from what it runs in the background
"""
PATIENT = f"""{FOREGROUND}
import time
from minisig.training.loop import Training

real = Training.step

def step(self, iteration):
    if iteration == 8:
        print("waiting", flush=True)
        patience = time.monotonic() + 60
        while signal.getsignal(signal.SIGINT) is not signal.default_int_handler and time.monotonic() < patience:
            time.sleep(0.01)
        print("noted" if time.monotonic() < patience else "not noted", flush=True)
        time.sleep(600)
    return real(self, iteration)

Training.step = step
main()
"""  # a run whose eighth iteration never ends


@contextmanager
def patient(*args):
    """A process that waits in its eighth iteration."""
    command = [sys.executable, "-c", PATIENT, "train", *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "waiting\n", process.stderr.read()
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_second_signal_ends_at_once(here, number):
    with patient(*options("digits", here), "--out", "run") as process:
        process.send_signal(number)
        assert process.stdout.readline() == "noted\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=300)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: -15}[number]
    assert "Traceback" not in stderr
    assert standing(kind("digits", here), here / "run") == 6
    cli(*options("digits", here), "--out", "straight")
    assert cli("--resume", "run").exit_code == 0
    assert difference(here / "run", outcome(here / "straight")) == ""


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_process_that_is_signalled_saves_where_it_stands(here, number):
    wanted = ["xor", "--out", "run", "--set", "log_every=1"]
    command = [sys.executable, "-c", f"{FOREGROUND}main()", "train", *wanted, "--iterations", str(10**9)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (here / "run" / "metrics.jsonl").exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (ENDS[number], "")
    done = re.fullmatch(r"Error: stopped after iteration ([\d,]+); go on with: minisig train --resume run\n", stderr)
    iterations = done[1].replace(",", "")
    cli("xor", "--out", "straight", "--set", "log_every=1", "--iterations", iterations)
    ours, theirs = (read_tensors(here / name / "checkpoint.safetensors")[0] for name in ("run", "straight"))
    for name in theirs:
        if not name.startswith("best."):  # the straight run was validated in the end
            np.testing.assert_array_equal(ours[name], theirs[name])


# One process at a time


def test_a_run_of_another_process_is_left_alone_and_is_free_when_that_is_killed(here, refused):
    wanted = options("dropout", here)
    with patient(*wanted, "--out", "run") as process:
        assert refused(2, "train", "--resume", "run") == "Error: run is in use by another process\n"
        assert "already holds a run" in refused(2, "train", *wanted, "--out", "run")
        other = python_m("train", "--resume", "run")
        assert (other.returncode, other.stdout) == (2, b"")
        assert other.stderr == b"Error: run is in use by another process\n"
        process.kill()
    assert cli("--resume", "run").exit_code == 0
    cli(*wanted, "--out", "straight")
    assert difference(here / "run", outcome(here / "straight")) == ""
