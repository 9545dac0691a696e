"""A comparison is the same table wherever its runs are made, and no finished run is ever repeated."""

import multiprocessing
from contextlib import contextmanager
from functools import partial
from hashlib import sha256

import msgspec
import numpy as np
import pytest

import minisig.experiments.compare as module
from minisig.errors import Diverged, MinisigError
from minisig.experiments import configure
from minisig.experiments.compare import compare, plan, train
from minisig.experiments.executors import Here, processes
from minisig.experiments.identity import identity
from minisig.experiments.results import Job, Result
from minisig.training.files import read_config
from minisig.training.run import run
from tests.cli.command import tree

FILES = {"config.json", "metrics.jsonl", "summary.json"}


@pytest.fixture(scope="module")
def stored(jobs, tmp_path_factory):
    """A finished comparison and its folder, for looking only."""
    folder = tmp_path_factory.mktemp("stored")
    return compare(jobs, folder, Here), folder


# The same table


def test_two_processes_give_the_table_of_one(jobs, tmp_path, as_made_here):
    assert as_made_here(compare(jobs, tmp_path, partial(processes, 2)))


def test_a_stored_table_is_the_one_that_was_made(jobs, stored, as_made_here, nowhere):
    comparison, folder = stored
    assert as_made_here(comparison)
    assert as_made_here(compare(jobs, folder, nowhere))


def test_a_table_holds_what_single_runs_bring(stored):
    for row in stored[0].rows:
        for result in row.results:
            assert result.summary | {"seconds": 0} == run(result.job.config) | {"seconds": 0}
        assert row.values == [result.summary["test_error"] for result in row.results]


def test_killed_workers_end_in_the_same_table(longer_jobs, tmp_path, as_made_here):
    entered = []

    @contextmanager
    def two_processes():
        entered.append(True)
        with processes(2) as pool:
            yield pool

    killed = []

    def kill(job, outcome):
        assert isinstance(outcome, Result)
        if not killed:
            killed.extend(multiprocessing.active_children())
            for process in killed:
                process.kill()

    comparison = compare(longer_jobs, tmp_path, two_processes, finished=kill)
    assert len(killed) == 2
    assert len(entered) == 2  # or nobody was in the middle of anything
    assert as_made_here(comparison)
    assert {path.name for path in tmp_path.iterdir()} == {job.folder for job in longer_jobs}


# Finished runs


def test_finished_runs_are_read_and_not_touched(jobs, stored, nowhere):
    _, folder = stored
    before = tree(folder)
    seen = []
    compare(jobs, folder, nowhere, finished=lambda job, outcome: seen.append((job, outcome.job)))
    assert seen == [(job, job) for job in jobs]
    assert tree(folder) == before


def test_only_what_is_missing_is_made(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        module, "train", lambda config, *rest: made.append(msgspec.json.decode(config)) or train(config, *rest)
    )
    settings = {"iterations": 5}
    compare(plan("xor", ["lecun"], 2, settings), tmp_path, Here)
    before = tree(tmp_path)
    compare(plan("xor", ["lecun", "ortho"], 3, settings), tmp_path, Here)
    assert [(config["network"]["init"], config["seed"]) for config in made] == [
        *[("lecun", 0), ("lecun", 1)],
        *[("lecun", 2), ("ortho", 0), ("ortho", 1), ("ortho", 2)],
    ]
    assert tree(tmp_path).items() > before.items()


def test_a_run_is_stored_under_the_hash_of_the_configuration_that_lies_in_it(jobs, stored):
    _, folder = stored
    assert {path.name for path in folder.iterdir()} == {job.folder for job in jobs}
    for job in jobs:
        path = folder / job.folder
        assert {file.name for file in path.iterdir()} == FILES
        config = read_config(path)
        assert config == job.config
        assert path.name == f"{job.row}-seed{config.seed}-{sha256(identity(config)).hexdigest()[:16]}"


def test_the_folder_of_a_run_may_be_read_by_others(stored):
    _, folder = stored
    assert all(path.stat().st_mode & 0o777 == 0o755 for path in folder.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    {
        "iterations": 7,
        "seed": 1,
        "threads": 2,
        "batch_size": 7,
        "log_every": 7,
        "validate_every": 7,
        "statistics_every": 7,
        "dtype": "float64",
        "data.path": "mine.csv",
        "data.augment": {},
        "network.hidden": [8],
        "network.dropout": 0.1,
        "network.activation": "scaled-tanh",
        "optimizer.name": "adam",
        "optimizer.learning_rate": 0.0123,
        "optimizer.momentum": 0.5,
        "optimizer.schedule": "constant",
        "optimizer.warmup": 7,
        "optimizer.clip": 0.5,
    }.items(),
)
def test_another_setting_is_another_folder(name, value):
    usual = configure("digits", {"iterations": 5, "threads": 1})
    other = configure("digits", {"iterations": 5, "threads": 1, name: value})
    assert Job("lecun", usual).folder != Job("lecun", other).folder
    assert Job("lecun", usual).folder == Job("lecun", configure("digits", {"threads": 1, "iterations": 5})).folder


def test_what_was_left_of_a_run_that_was_killed_is_no_finished_run(tmp_path, as_made_here, jobs):
    (tmp_path / ".run-killed").mkdir()
    (tmp_path / ".run-killed" / "config.json").write_bytes(msgspec.json.encode(jobs[0].config))
    assert as_made_here(compare(jobs, tmp_path, Here))


# Runs that fail


def test_a_failing_run_is_named_and_the_others_finish(jobs, stored, tmp_path, fail):
    error = Diverged("far too fast")
    fail({("random+ep", 1): error})
    seen = {}
    comparison = compare(jobs, tmp_path, Here, finished=seen.__setitem__)
    whole, _ = stored
    assert [row.values for row in comparison.rows] == [whole.rows[0].values[:1], whole.rows[1].values]
    assert [row.failures for row in comparison.rows] == [{1: error}, {}]
    assert comparison.failures == [error]
    failed = [job for job in jobs if (job.row, job.config.seed) == ("random+ep", 1)]
    assert [job for job, outcome in seen.items() if outcome is error] == failed
    assert {path.name for path in tmp_path.iterdir()} == {job.folder for job in jobs if job not in failed}


def test_a_run_that_failed_is_tried_again_and_it_alone(jobs, tmp_path, fail, as_made_here):
    fail({("lecun", 0): Diverged("far too fast")})
    compare(jobs, tmp_path, Here)
    before = tree(tmp_path)
    fail({})
    assert as_made_here(compare(jobs, tmp_path, Here))
    assert tree(tmp_path).items() > before.items()


def test_a_bug_in_one_run_is_told_with_its_kind(jobs, tmp_path, fail):
    fail({("lecun", 1): ZeroDivisionError("by zero")})
    (error,) = compare(jobs, tmp_path, Here).failures
    assert (type(error), str(error), error.exit_code) == (MinisigError, "ZeroDivisionError: by zero", 1)


def test_an_interruption_ends_the_comparison_and_keeps_what_is_finished(jobs, tmp_path, fail, as_made_here):
    fail({("lecun", 0): KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        compare(jobs, tmp_path, Here)
    assert {path.name for path in tmp_path.iterdir()} == {job.folder for job in jobs if job.row == "random+ep"}
    fail({})
    assert as_made_here(compare(jobs, tmp_path, Here))


def test_when_all_fail_a_folder_that_others_use_is_left_to_them(jobs, tmp_path, fail):
    fail({(job.row, job.config.seed): Diverged("far too fast") for job in jobs})
    folder = tmp_path / "runs"

    def others(job, outcome):
        (folder / "theirs").touch()

    assert len(compare(jobs, folder, Here, finished=others).failures) == len(jobs)
    assert [path.name for path in folder.iterdir()] == ["theirs"]


def constant_data(folder):
    """Data that EP has no weights for."""
    path = folder / "constant.npz"
    np.savez(path, x_train=np.tile([1.0, 2.0], (40, 1)), y_train=np.arange(40) % 2)
    return {"data.path": str(path), "iterations": 5, "network.hidden": [4], "threads": 1}


def test_a_failure_in_another_process_is_the_same_failure(tmp_path):
    jobs = plan("digits", ["lecun", "random+ep"], 2, constant_data(tmp_path))
    here = compare(jobs, tmp_path / "here", Here)
    there = compare(jobs, tmp_path / "there", partial(processes, 2))
    assert [(type(error), str(error)) for error in there.failures] == [
        (type(error), str(error)) for error in here.failures
    ]
    assert len(here.failures) == 2
    assert [row.values for row in there.rows] == [row.values for row in here.rows]
    lecun, _ = there.rows
    assert {path.name for path in (tmp_path / "there").iterdir()} == {result.job.folder for result in lecun.results}


# Watching


def test_what_runs_here_can_be_watched(jobs, tmp_path):
    seen = []
    comparison = compare(jobs, tmp_path, Here, observers=[seen.append])
    logged = [record for row in comparison.rows for result in row.results for record in result.metrics]
    assert [record["iteration"] for record in seen] == [record["iteration"] for record in logged]
    assert [record["train_loss"] for record in seen] == [record["train_loss"] for record in logged]
