"""A comparison is the same table wherever its runs are made, and no finished run is ever repeated."""

import dataclasses
import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from errno import ENOSPC
from functools import partial
from hashlib import sha256
from threading import Event, Thread

import msgspec
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import minisig.experiments.compare as module
from minisig.errors import DataError, Diverged, MinisigError, UsageError
from minisig.experiments import EXPERIMENTS, configure
from minisig.experiments.compare import Job, Result, compare, every_row, plan, train
from minisig.experiments.executors import Here, processes
from minisig.training.config import Config
from minisig.training.run import resume, run
from tests.cli.command import tree

FILES = {"config.json", "metrics.jsonl", "summary.json"}


@contextmanager
def nowhere():
    """A place that nobody may go to."""
    raise AssertionError("a run is being made")
    yield


@pytest.fixture(scope="module")
def stored(jobs, tmp_path_factory):
    """A finished comparison and its folder, for looking only."""
    folder = tmp_path_factory.mktemp("stored")
    return compare(jobs, folder, Here), folder


@pytest.fixture
def one(tmp_path):
    """One finished run that may be damaged: its job, the folder of the comparison, and its own."""
    (job,) = plan("xor", ["lecun"], 1, {"iterations": 5})
    compare([job], tmp_path, Here)
    return job, tmp_path, tmp_path / job.folder


# The same table


def test_two_processes_give_the_table_of_one(jobs, tmp_path, as_made_here):
    assert as_made_here(compare(jobs, tmp_path, partial(processes, 2)))


def test_a_stored_table_is_the_one_that_was_made(jobs, stored, as_made_here):
    comparison, folder = stored
    assert as_made_here(comparison)
    assert as_made_here(compare(jobs, folder, nowhere))


def test_a_table_holds_what_single_runs_bring(jobs, stored):
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


def test_finished_runs_are_read_and_not_touched(jobs, stored):
    _, folder = stored
    before = tree(folder)
    seen = []
    compare(jobs, folder, nowhere, finished=lambda job, outcome: seen.append((job, outcome.job)))
    assert seen == [(job, job) for job in jobs]
    assert tree(folder) == before


def test_only_what_is_missing_is_made(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(module, "train", lambda config: made.append(msgspec.json.decode(config)) or train(config))
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
        config = msgspec.json.decode((path / "config.json").read_bytes(), type=Config)
        assert config == job.config
        assert path.name == f"{job.row}-seed{config.seed}-{sha256(msgspec.json.encode(config)).hexdigest()[:16]}"


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
    path = folder / "constant.csv"
    path.write_text("1,2,0\n1,2,1\n" * 20)
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
    assert {path.name for path in (tmp_path / "there").iterdir()} == {job.folder for job in jobs if job.row == "lecun"}


# Disks and files


def test_a_place_that_cannot_be_written_to_is_named(jobs, tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(MinisigError, match=rf"^cannot write to .*{folder.name}: "):
            compare(jobs, folder, Here)
    assert (tmp_path / "file").read_text() == "mine"


LITTLE_ROOM = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
from minisig.cli import main
main(prog_name="minisig")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files there")
@pytest.mark.parametrize("workers", [[], ["--workers", "1"]], ids=["here", "processes"])
def test_a_full_disk_is_told_in_one_line_and_leaves_no_half_run(tmp_path, workers):
    args = ("compare", "xor", "--init", "lecun", "--seeds", "2", "--iterations", "200", "--out", "runs", *workers)
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_ROOM, *args], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: cannot write to runs: File too large\n"
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_appears_whole_or_not_at_all(jobs, tmp_path, monkeypatch):
    def full(*paths):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(MinisigError, match="No space left on device"):
        compare(jobs, tmp_path, Here)
    assert list(tmp_path.iterdir()) == []


def edited(**fields):
    """The content of a JSON file with these fields changed, or left out if None."""

    def edit(content):
        known = json.loads(content) | fields
        return json.dumps({name: value for name, value in known.items() if value is not None}).encode()

    return edit


DAMAGE = {
    "no summary": ("summary.json", None),
    "no metrics": ("metrics.jsonl", None),
    "no configuration": ("config.json", None),
    "empty summary": ("summary.json", lambda content: b""),
    "half a summary": ("summary.json", lambda content: content[: len(content) // 2]),
    "summary of bytes": ("summary.json", lambda content: b"\xff\xfe\x00"),
    "summary a list": ("summary.json", lambda content: b"[1, 2]"),
    "summary not a number": ("summary.json", lambda content: b'{"test_error": NaN, "baselines": {}}'),
    "no test error": ("summary.json", edited(test_error=None)),
    "test error a word": ("summary.json", edited(test_error="good")),
    "test error a list": ("summary.json", edited(test_error=[1.0])),
    "no baselines": ("summary.json", edited(baselines=None)),
    "baselines a number": ("summary.json", edited(baselines=5)),
    "half a record": ("metrics.jsonl", lambda content: content[:-20]),
    "record a list": ("metrics.jsonl", lambda content: content + b"[]\n"),
    "records of bytes": ("metrics.jsonl", lambda content: content + b'{"iteration": "\xff"}\n'),
    "configuration of another run": ("config.json", edited(iterations=6)),
    "configuration of another seed": ("config.json", edited(seed=6)),
    "configuration with an unknown field": ("config.json", edited(colour="red")),
    "configuration a list": ("config.json", lambda content: b"[]"),
    "no seconds": ("summary.json", edited(seconds=None)),
    "seconds a word": ("summary.json", edited(seconds="long")),
    "baselines of words": ("summary.json", edited(baselines={"memoryless": "much"})),
    "test error infinite": ("summary.json", edited(test_error="inf")),
    "record without iteration": ("metrics.jsonl", lambda content: b'{"train_loss": 1.0}\n' + content),
    "iteration a word": ("metrics.jsonl", lambda content: b'{"iteration": "last", "train_loss": 1.0}\n' + content),
    "iteration beyond counting": ("metrics.jsonl", (b'{"iteration": 1%s, "train_loss": 1.0}\n' % (b"0" * 30)).__add__),
    "loss beyond all numbers": ("metrics.jsonl", (b'{"iteration": 7, "train_loss": 1%s}\n' % (b"0" * 400)).__add__),
}


@pytest.mark.parametrize(("name", "damage"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_result_is_refused_by_its_folder(one, name, damage):
    job, folder, path = one
    file = path / name
    file.unlink() if damage is None else file.write_bytes(damage(file.read_bytes()))
    before = tree(folder)
    with pytest.raises(DataError, match=rf"^{path}[:/]") as raised:
        compare([job], folder, nowhere)
    assert "(" + str(path) not in str(raised.value)  # one complaint wrapped in another
    assert tree(folder) == before


@pytest.mark.skipif(os.name == "nt", reason="no sparse files there")
@pytest.mark.parametrize("name", sorted(FILES))
def test_a_result_of_absurd_size_is_refused_unread(one, name):
    job, folder, path = one
    os.truncate(path / name, 2**40)
    with pytest.raises(DataError, match=rf"{name}.*larger than any such file"):
        compare([job], folder, nowhere)


def test_a_damaged_result_that_was_removed_is_made_again(one, as_made_here):
    job, folder, path = one
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    assert as_made_here(compare([job], folder, Here))


def test_a_run_that_somebody_else_has_finished_meanwhile_is_his(one, as_made_here):
    job, folder, path = one

    @contextmanager
    def late():
        path.with_name("away").rename(path)  # while we are at it, he is done
        yield Here()

    path.rename(path.with_name("away"))
    assert as_made_here(compare([job], folder, late))
    assert {file.name for file in folder.iterdir()} == {job.folder}


# Threads of BLAS


def blas_threads():
    """Of every BLAS there is, NumPy's and SciPy's."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def set_blas_threads(number):
    """For the whole process. In a thread that ends: what sets it from one that lives on may keep others from it."""
    thread = Thread(target=threadpool_limits, args=(number,), kwargs={"user_api": "blas"})
    thread.start()
    thread.join()


@pytest.fixture
def two_threads():
    """A process in which BLAS may use two threads."""
    with threadpool_limits(None):  # whose end lets other threads set it, whoever did before
        before = max(blas_threads(), default=1)
    set_blas_threads(2)
    if set(blas_threads()) != {2}:
        pytest.skip("this BLAS has one thread")
    yield
    set_blas_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("threads", "seen"), [(1, 1), (None, 2)])
def test_a_run_limits_the_threads_of_blas_and_gives_them_back(threads, seen):
    during = []
    run(configure("xor", {"iterations": 3, "threads": threads}), watch=lambda record: during.extend(blas_threads()))
    assert set(during) == {seen}
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_run_that_fails_gives_the_threads_of_blas_back():
    def fail(record):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(configure("xor", {"iterations": 3, "threads": 1}), watch=fail)
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_run_that_ends_leaves_the_threads_of_blas_to_the_others_of_its_process():
    config = msgspec.json.encode(configure("xor", {"iterations": 3, "threads": 1}))
    first_began, second_began, first_ended = Event(), Event(), Event()
    during = []

    def first(record):
        first_began.set()
        assert second_began.wait(60)

    def second(record):
        second_began.set()
        assert first_ended.wait(60)
        during.extend(blas_threads())

    with ThreadPoolExecutor(2) as pool:
        pool.submit(train, config, first).add_done_callback(lambda future: first_ended.set())
        assert first_began.wait(60)
        pool.submit(train, config, second).result()
    assert set(during) == {1}


# Watching


def test_what_runs_here_can_be_watched(jobs, tmp_path):
    seen = []
    comparison = compare(jobs, tmp_path, Here, watch=seen.append)
    logged = [record for row in comparison.rows for result in row.results for record in result.metrics]
    assert [record["iteration"] for record in seen] == [record["iteration"] for record in logged]
    assert [record["train_loss"] for record in seen] == [record["train_loss"] for record in logged]


# Plans


def test_a_plan_has_every_row_with_every_seed_in_order():
    jobs = plan("xor", ["ortho", "lecun", "ortho"], 2, {"iterations": 5})
    assert [(job.row, job.config.network.init, job.config.seed, job.config.iterations) for job in jobs] == [
        *[("ortho", "ortho", 0, 5), ("ortho", "ortho", 1, 5)],
        *[("lecun", "lecun", 0, 5), ("lecun", "lecun", 1, 5)],
    ]


def test_own_rows_of_an_experiment_have_their_own_settings():
    (lstm,) = plan("copy-memory", ["lstm"], 1, {})
    assert (lstm.config.network.model, lstm.config.network.hidden, lstm.config.network.init) == (
        "lstm",
        (52,),
        "glorot",
    )
    (tanh,) = plan("mnist-shallow", ["scaled-tanh"], 1, {})
    assert (tanh.config.network.activation, tanh.config.network.init) == ("scaled-tanh", "lecun")


def test_own_rows_of_an_experiment_heed_the_settings_given():
    (lstm,) = plan("ptb", ["lstm"], 1, {"network.hidden": [30], "network.init": "ortho", "iterations": 5})
    assert (lstm.config.network.hidden, lstm.config.network.init, lstm.config.iterations) == ((30,), "ortho", 5)


def test_rows_take_the_settings_that_their_model_has():
    rnn, lstm = plan("copy-memory", ["ortho", "lstm"], 1, {"network.radius": 2.0, "network.dropout": 0.5})
    assert (rnn.config.network.radius, rnn.config.network.dropout) == (2.0, 0.5)
    assert (lstm.config.network.radius, lstm.config.network.dropout) == (None, 0.5)


@pytest.mark.parametrize(
    ("experiment", "rows", "settings", "message"),
    [
        ("xro", ["lecun"], {}, "experiment 'xro'. Did you mean 'xor'?"),
        ("xor", ["lecum"], {}, "init 'lecum'. Did you mean 'lecun'?"),
        ("xor", [""], {}, "init ''"),
        ("xor", ["lstm"], {}, "init 'lstm'"),
        ("copy-memory", ["lstn"], {}, "Did you mean 'lstm'?"),
        ("xor", ["lecun"], {"network.init": "ortho"}, "network.init is what the rows"),
        ("copy-memory", ["lstm"], {"network.model": "rnn"}, "network.model is what the rows"),
        ("mnist-deep", ["scaled-tanh"], {"network.activation": "sigmoid"}, "network.activation is what the rows"),
        ("xor", ["lecun"], {"iterations": 0}, "iterations"),
        ("xor", ["lecun"], {"seed": 5}, "seed"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(experiment, rows, settings, message):
    with pytest.raises(UsageError) as raised:
        plan(experiment, rows, 1, settings)
    assert message in str(raised.value)


def test_a_run_of_a_comparison_is_not_gone_on_with_for_it_would_be_lost(tmp_path):
    (job,) = plan("xor", ["lecun"], 1, {"iterations": 2, "threads": 1})
    compare([job], tmp_path, Here)
    with pytest.raises(UsageError, match="no checkpoint to go on from"):
        resume(tmp_path / job.folder, iterations=4)
    assert compare([job], tmp_path, Here).rows[0].results


def test_a_comparison_by_what_the_data_do_not_give_is_a_failure_with_a_reason(tmp_path):
    settings = {"iterations": 1, "data.source": "copy-memory", "data.delay": 2, "network.hidden": [3], "threads": 1}
    jobs = plan("digits", ["lecun"], 1, settings | {"network.model": "rnn"})
    (failure,) = compare(jobs, tmp_path, Here).failures
    assert str(failure) == "digits compares test_error, which copy-memory does not give"


def test_all_rows_of_an_lstm_are_those_it_can_have(monkeypatch):
    lstm = EXPERIMENTS["copy-memory"]
    config = msgspec.structs.replace(lstm.config, network=msgspec.structs.replace(lstm.config.network, model="lstm"))
    monkeypatch.setitem(EXPERIMENTS, "other", dataclasses.replace(lstm, config=config, rows={}))
    assert every_row("other", None) == ["ortho", "glorot", "lecun"]
