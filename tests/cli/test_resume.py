"""minisig train --resume: after signals, beyond the end, and when it is not possible."""

import json
import os
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

from minisig.errors import Diverged
from minisig.training.files import read_tensors
from minisig.training.loop import Training
from minisig.training.run import run
from tests.cli.command import cli as command
from tests.cli.command import python_m, tree
from tests.faults.runs import KINDS, begun, difference, kind, outcome, settings, standing

ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143}
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
cli = partial(command, "train")


def options(name, folder):
    """The command line of a run of this kind."""
    experiment, own = settings(name, folder / "words")
    return [experiment, *(part for key, value in own.items() for part in ("--set", f"{key}={json.dumps(value)}"))]


@pytest.fixture
def refused(refused):
    """The last line that `minisig train` says."""
    return lambda code, *args: refused(code, "train", *args).splitlines()[-1]


@contextmanager
def signalled(number, iteration):
    """This process gets the signal during that iteration of training, and takes signals as one in a terminal does."""
    real, before = Training.step, signal.signal(signal.SIGINT, signal.default_int_handler)

    def step(self, now):
        if now == iteration:
            os.kill(os.getpid(), number)
        return real(self, now)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Training, "step", step)
        yield
    signal.signal(signal.SIGINT, before)


# Signals


@needs_signals
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


@needs_signals
def test_a_signal_in_the_last_iteration_comes_too_late(here):
    with signalled(signal.SIGINT, 20):
        assert cli(*options("xor", here), "--out", "run").exit_code == 0
    assert (here / "run" / "summary.json").exists()


@needs_signals
def test_signals_are_as_they_were_after_a_run(here):
    before = [signal.getsignal(number) for number in ENDS]
    assert cli("xor", "--iterations", 2).exit_code == 0
    assert [signal.getsignal(number) for number in ENDS] == before


@needs_signals
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


@needs_signals
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_second_signal_ends_at_once(here, number):
    with patient(*options("digits", here), "--out", "run") as process:
        process.send_signal(number)
        assert process.stdout.readline() == "noted\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: -15}[number]
    assert "Traceback" not in stderr
    assert standing(kind("digits", here), here / "run") == 6
    cli(*options("digits", here), "--out", "straight")
    assert cli("--resume", "run").exit_code == 0
    assert difference(here / "run", outcome(here / "straight")) == ""


@needs_signals
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_process_that_is_signalled_saves_where_it_stands(here, number):
    wanted = ["xor", "--out", "run", "--set", "log_every=1"]
    command = [sys.executable, "-c", f"{FOREGROUND}main()", "train", *wanted, "--iterations", str(10**9)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (here / "run" / "metrics.jsonl").exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (ENDS[number], "")
    done = re.fullmatch(r"Error: stopped after iteration ([\d,]+); go on with: minisig train --resume run\n", stderr)
    iterations = done[1].replace(",", "")
    cli("xor", "--out", "straight", "--set", "log_every=1", "--iterations", iterations)
    ours, theirs = (read_tensors(here / name / "checkpoint.safetensors")[0] for name in ("run", "straight"))
    for name in theirs:
        if not name.startswith("best."):  # the straight run was validated in the end
            np.testing.assert_array_equal(ours[name], theirs[name])


# One process at a time


@needs_signals
def test_a_run_of_another_process_is_left_alone_and_is_free_when_that_is_killed(here, refused):
    wanted = options("dropout", here)
    with patient(*wanted, "--out", "run") as process:
        assert refused(2, "--resume", "run") == "Error: run is in use by another process"
        assert "already holds a run" in refused(2, *wanted, "--out", "run")
        other = python_m("train", "--resume", "run", timeout=120)
        assert (other.returncode, other.stdout) == (2, b"")
        assert other.stderr == b"Error: run is in use by another process\n"
        process.kill()
    assert cli("--resume", "run").exit_code == 0
    cli(*wanted, "--out", "straight")
    assert difference(here / "run", outcome(here / "straight")) == ""


# Runs that are finished


@pytest.mark.parametrize("more", [[], ["--iterations", "20"], ["--json"]], ids=["", "as many", "json"])
def test_a_finished_run_is_shown_again_and_left_as_it_is(here, more):
    first = cli(*options("rnn", here), "--out", "run", *[option for option in more if option == "--json"])
    before = tree(here)
    result = cli("--resume", "run", *more)
    assert (result.exit_code, result.stdout, result.stderr) == (0, first.stdout, "")
    assert tree(here) == before


def test_a_finished_run_of_a_comparison_is_shown_and_nothing_is_put_into_it(here):
    assert command("compare", "xor", "--init", "lecun", "--seeds", 1, "--iterations", 5, "--out", "all").exit_code == 0
    (run_,) = (path for path in (here / "all").iterdir() if path.is_dir())
    before = tree(run_)
    assert cli("--resume", run_).exit_code == 0
    assert tree(run_) == before


def test_an_unknown_backend_is_refused_though_the_run_is_finished(here, refused):
    cli(*options("xor", here), "--out", "run")
    assert "unknown backend 'foo'" in refused(2, "--resume", "run", "--backend", "foo")


def test_more_iterations_make_the_longer_run(here):
    wanted = options("digits", here)
    cli(*wanted, "--out", "straight", "--set", "iterations=24")
    cli(*wanted, "--out", "run", "--set", "iterations=12")
    result = cli("--resume", "run", "--iterations", 24, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads((here / "run" / "summary.json").read_text())
    assert difference(here / "run", outcome(here / "straight")) == ""


@needs_signals
def test_a_falling_rate_cannot_be_extended_and_no_run_shortened(here, refused):
    cli(*options("xor", here), "--out", "falling")
    assert "falls to 0 at iteration 20" in refused(2, "--resume", "falling", "--iterations", 21)
    cli(*options("digits", here), "--out", "run")
    assert "extended, not shortened" in refused(2, "--resume", "run", "--iterations", 19)
    refused(2, "--resume", "run", "--iterations", 0)
    with signalled(signal.SIGINT, 21):  # it must not begin
        assert "1000000000" in refused(2, "--resume", "run", "--iterations", 10**9 + 1)


@pytest.mark.parametrize(
    "others",
    [
        ["digits"],
        ["--seed", "0"],
        ["--init", "lecun"],
        ["--hidden", "8"],
        ["--learning-rate", "0.1"],
        ["--out", "other"],
        ["--set", "seed=1"],
        ["--threads", "1"],
        ["--dtype", "float64", "--iterations", "30"],
    ],
    ids=lambda others: others[0],
)
def test_a_run_is_resumed_as_it_was_configured(here, refused, others):
    begun(kind("digits", here), here / "run", 7)
    assert "a run is resumed as it was configured; leave out" in refused(2, "--resume", "run", *others)


# What is no run


@pytest.mark.parametrize("make", ["nothing", "file", "empty", "other"])
def test_a_folder_that_holds_no_run_is_not_resumed(here, refused, make):
    match make:
        case "file":
            (here / "run").write_text("mine")
        case "empty":
            (here / "run").mkdir()
        case "other":
            (here / "run").mkdir()
            (here / "run" / "mine.txt").write_text("mine")
    assert "is run a run?" in refused(5, "--resume", "run")


def test_a_damaged_summary_is_refused_with_what_to_do(here, refused):
    run(kind("xor", here), here / "run")
    good = json.loads((here / "run" / "summary.json").read_text())
    for name in ("layers", "test_loss", "parameters", "seconds"):
        for bad in ({**good, name: None}, {key: value for key, value in good.items() if key != name}):
            (here / "run" / "summary.json").write_text(json.dumps(bad))
            assert "summary.json" in refused(5, "--resume", "run")
    (here / "run" / "summary.json").unlink()
    assert cli("--resume", "run").exit_code == 0
    again = json.loads((here / "run" / "summary.json").read_text())
    assert {**again, "seconds": 0} == {**good, "seconds": 0}


# Divergence


def test_divergence_is_exit_code_4_and_the_last_good_checkpoint_stays(here, monkeypatch):
    config, good, real = kind("digits", here), {}, Training.step

    def step(self, iteration):
        made = real(self, iteration)
        if iteration == 8:
            good.update(tree(here))
            self.net.params["dense1.W"].fill(np.nan)
        return made

    monkeypatch.setattr(Training, "step", step)
    result = cli(*options("digits", here), "--out", "run")
    assert (result.exit_code, result.stdout) == (Diverged.exit_code, "") == (4, "")
    assert re.fullmatch(
        r"Error: diverged at iteration \d+: .*first seen in dense\d.*; lower the learning rate, now .*\n", result.stderr
    )
    path = here / "run" / "checkpoint.safetensors"
    assert tree(here)[path] == good[path]
    assert standing(config, here / "run") == 6
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert cli("--resume", "run").exit_code == 0
    cli(*options("digits", here), "--out", "straight")
    assert difference(here / "run", outcome(here / "straight")) == ""
