"""minisig compare: runs that fail, data that are missing or changed, and results that are damaged."""

import re
from functools import partial

import numpy as np
import pytest

from minisig.errors import DataError, Diverged
from tests.cli.command import cli, finished_runs, strict, tree

pytestmark = pytest.mark.usefixtures("here", "without_figures")
QUICK = ("--iterations", 5)
XOR = ("xor", "--init", "lecun,ortho", "--seeds", 3, *QUICK)
cli = partial(cli, "compare")
DIVERGED, MISSING = Diverged("diverged at iteration 3"), DataError("no such data")


@pytest.mark.parametrize(
    ("failures", "code"),
    [
        ({("lecun", 1): DIVERGED}, 4),
        ({("lecun", 0): DIVERGED, ("lecun", 1): DIVERGED, ("ortho", 2): DIVERGED}, 4),
        ({("lecun", 1): MISSING}, 5),
        ({("lecun", 1): DIVERGED, ("ortho", 0): MISSING}, 1),
        ({("lecun", 1): ZeroDivisionError("by zero")}, 1),
    ],
)
def test_failing_runs_are_named_the_others_finish_and_the_exit_code_tells_the_kind(here, fail, failures, code):
    fail(failures)
    result = cli(*XOR, "--out", "runs")
    assert result.exit_code == code
    assert re.fullmatch(rf"Error: {len(failures)} of 6 runs failed; the first: .*\n", result.stderr)
    found = strict((here / "runs" / "comparison.json").read_text())
    for row in found["rows"]:
        failed = {str(seed): error for (init, seed), error in failures.items() if init == row["init"]}
        assert row["failed"].keys() == failed.keys()
        assert len(row["values"]) == 3 - len(failed)
        for seed, error in failed.items():
            (line,) = (x for x in result.stdout.splitlines() if x.startswith(f"failed: {row['init']}, seed {seed}: "))
            assert str(error) in line
            assert str(error) in row["failed"][seed]
    assert len(finished_runs(here / "runs")) == 6 - len(failures)


def test_with_json_a_failure_leaves_one_object_on_stdout(fail):
    fail({("lecun", 1): DIVERGED})
    result = cli(*XOR, "--json")
    assert (result.exit_code, result.stdout.count("\n"), result.stderr.count("\n")) == (4, 1, 1)
    assert strict(result.stdout)["rows"][0]["failed"] == {"1": str(DIVERGED)}


def test_the_next_try_makes_what_failed_and_nothing_else(here, fail):
    fail({("lecun", 1): DIVERGED})
    assert cli(*XOR, "--out", "runs").exit_code == 4
    before = {path: data for run in finished_runs(here / "runs") for path, data in tree(run).items()}
    fail({})
    assert cli(*XOR, "--out", "runs").exit_code == 0
    assert tree(here / "runs").items() > before.items()
    assert len(finished_runs(here / "runs")) == 6


@pytest.mark.parametrize("rate", ["1e30", "1e300"])
def test_when_every_run_diverges_the_exit_code_says_so(rate):
    result = cli(*XOR, "--iterations", 100, "--learning-rate", rate)
    assert result.exit_code == 4
    assert re.fullmatch(r"Error: 6 of 6 runs failed; the first: diverged .*\n", result.stderr)


def test_when_every_run_fails_each_is_told_or_what_is_wrong_with_all(fail):
    fail({(init, seed): Diverged(f"by {init} {seed}") for init in ("lecun", "ortho") for seed in range(3)})
    assert len(re.findall(r"^failed: ", cli(*XOR).stdout, re.MULTILINE)) == 6
    assert [len(row["failed"]) for row in strict(cli(*XOR, "--json").stdout)["rows"]] == [3, 3]
    fail({(init, seed): DIVERGED for init in ("lecun", "ortho") for seed in range(3)})
    assert cli(*XOR).stdout == ""


def test_a_run_that_lacks_memory_says_what_to_do(fail):
    fail({("lecun", 1): MemoryError("Unable to allocate 2.98 GiB")})
    assert "failed: lecun, seed 1: not enough memory: make the network or the batch smaller" in cli(*XOR).stdout


def test_the_table_is_shown_though_it_cannot_be_written(here):
    (here / "runs" / "comparison.json").mkdir(parents=True)  # where a file should go
    result = cli(*XOR, "--out", "runs")
    assert (result.exit_code, result.stderr) == (1, "Error: cannot write to runs: Is a directory\n")
    assert re.search(r"^lecun +\d", result.stdout, re.MULTILINE)


def test_runs_on_other_data_under_the_same_name_are_made_anew(here):
    x = np.linspace(-1, 1, 60)
    args = ("digits", "--data", "mine.csv", "--hidden", 4, "--init", "lecun", "--seeds", 1, *QUICK, "--out", "runs")
    for made, y in ((1, x > 0), (2, x > 0.5), (2, x > 0.5)):
        (here / "mine.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(x, y.astype(int), strict=True)))
        assert cli(*args).exit_code == 0
        assert len(finished_runs(here / "runs")) == made


def test_missing_data_are_told_once_with_what_to_do(here, monkeypatch):
    for name in ("MINISIG_DATA", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(here / "empty"))
    result = cli("mnist-shallow", "--init", "lecun,ortho", "--seeds", 2, *QUICK)
    assert result.exit_code == 5
    assert re.fullmatch(r"Error: .*minisig data fetch mnist.*\n", result.stderr)
    assert list(here.iterdir()) == []


def test_a_damaged_result_is_named(here):
    assert cli(*XOR, "--out", "runs").exit_code == 0
    damaged = finished_runs(here / "runs")[0]
    (damaged / "summary.json").write_text("{")
    result = cli(*XOR, "--out", "runs")
    assert (result.exit_code, result.stdout) == (5, "")
    assert re.fullmatch(rf"Error: runs/{re.escape(damaged.name)}.*remove the folder\n", result.stderr)
