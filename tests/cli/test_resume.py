"""minisig train --resume: beyond the end, and when it is not possible; test_signals.py has what comes after signals."""

import json
import re
import signal
import sys
from functools import partial

import numpy as np
import pytest

from minisig.errors import Diverged
from minisig.training.loop import Training
from minisig.training.run import run
from tests.cli.command import cli as command
from tests.cli.command import tree
from tests.faults.runs import begun, difference, kind, options, outcome, signalled, standing

cli = partial(command, "train")


@pytest.fixture
def refused(refused):
    """The last line that `minisig train` says."""
    return lambda code, *args: refused(code, "train", *args).splitlines()[-1]


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


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
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
