"""A run of a comparison is a run as any other: interrupted, it goes on from its last checkpoint, to the same bits."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from time import sleep

import pytest
from filelock import FileLock
from msgspec.json import encode

from minisig.errors import DataError, Diverged
from minisig.experiments import results as module
from minisig.experiments.compare import compare, plan, train
from minisig.experiments.executors import Here, cluster, completed
from minisig.experiments.results import tidy, unfinished
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.files import read_tensors, write_tensors
from minisig.training.loop import Training
from minisig.training.run import run
from tests.cli.command import PYTHON_M, finished_runs, strict, tree
from tests.experiments.interrupted import AT, LAST, SETTINGS, outcome


def test_it_goes_on_from_its_last_checkpoint_and_leaves_nothing_behind(job, steps, under_way, tmp_path, as_made_here):
    assert [path.name for path in tmp_path.iterdir()] == [under_way.name]
    seen = []
    comparison = compare([job], tmp_path, Here, observers=[lambda record: seen.append(record["iteration"])])
    assert steps == [*range(LAST + 1, 61)]
    assert seen == [42, 49, 56, 60]
    assert [path.name for path in tmp_path.iterdir()] == [job.folder]
    assert {path.name for path in (tmp_path / job.folder).iterdir()} == {"config.json", "metrics.jsonl", "summary.json"}
    assert as_made_here(comparison)
    assert as_made_here(compare([job], tmp_path, Here))  # as it was stored


def test_interrupted_twice_it_goes_on_twice(job, steps, under_way, tmp_path, as_made_here):
    steps.errors[LAST + 5] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        compare([job], tmp_path, Here)
    assert as_made_here(compare([job], tmp_path, Here))
    assert steps == [*range(LAST + 1, LAST + 5), *range(LAST + 1, 61)]


def die_before(fatal):
    """In a worker: die without a word."""
    real = Training.step

    def step(training, iteration):
        if iteration == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(training, iteration)

    Training.step = step


def test_a_worker_that_dies_leaves_its_run_to_the_next(job, steps, tmp_path, as_made_here):
    spawn = multiprocessing.get_context("spawn")
    executors = [Here(), ProcessPoolExecutor(1, mp_context=spawn, initializer=die_before, initargs=(AT,))]
    comparison = compare([job], tmp_path, executors.pop)
    assert steps == [*range(LAST + 1, 61)]
    assert as_made_here(comparison)


def test_on_a_cluster_nothing_of_it_is_on_the_disk_of_the_worker(job, dask, tmp_path):
    """That may be this machine's, as here, or not."""
    path, executor = tmp_path / "run", partial(cluster, dask.address, gpu=False)
    ((_, future),) = completed(executor, train, [job], lambda job: (encode(job.config), str(path), ""))
    assert future.result()[0] | {"seconds": 0} == run(job.config) | {"seconds": 0}
    assert list(tmp_path.iterdir()) == []


# What is left is removed


def test_before_its_first_checkpoint_nothing_is_left(job, steps, tmp_path):
    steps.errors[20] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        compare([job], tmp_path, Here)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_has_diverged_is_over(job, steps, tmp_path):
    steps.errors[AT] = Diverged("far too fast")
    assert len(compare([job], tmp_path / "runs", Here).failures) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_failed_for_another_reason_goes_on_when_that_is_mended(job, steps, tmp_path, as_made_here):
    steps.errors[AT] = MemoryError()
    assert len(compare([job], tmp_path, Here).failures) == 1
    steps.clear()
    assert as_made_here(compare([job], tmp_path, Here))
    assert steps == [*range(LAST + 1, 61)]


def test_data_that_are_gone_for_a_while_do_not_cost_what_was_made(steps, tmp_path):
    data, away = tmp_path / "mine.csv", tmp_path / "away.csv"
    data.write_text("0.1,0.2,0\n0.3,0.1,1\n" * 50)
    (job,) = plan("digits", ["random+ep"], 1, SETTINGS | {"data.path": str(data), "batch_size": 10})
    whole = outcome(job, tmp_path / "straight")
    steps.clear()
    steps.errors[AT] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        outcome(job, tmp_path)
    data.rename(away)
    with pytest.raises(DataError, match=r"mine\.csv"):
        outcome(job, tmp_path)
    away.rename(data)
    steps.clear()
    assert outcome(job, tmp_path) == whole
    assert steps == [*range(LAST + 1, 61)]


def test_a_run_that_was_killed_on_the_way_to_its_name_only_gets_it(job, steps, tmp_path, monkeypatch, as_made_here):
    def killed(summary, config):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "_require_metric", killed)
        with pytest.raises(KeyboardInterrupt):
            compare([job], tmp_path, Here)
    (unfinished(tmp_path / job.folder) / CHECKPOINT).unlink()  # which goes first
    tidy(unfinished(tmp_path / job.folder), over=False)
    steps.clear()
    comparison = compare([job], tmp_path, Here)
    assert steps == []
    assert as_made_here(comparison)


# What cannot be gone on with is begun anew


def edited(name, **fields):
    def edit(path):
        (path / name).write_text(json.dumps(json.loads((path / name).read_text()) | fields))

    return edit


def cut(name, part):
    def cut_off(path):
        content = (path / name).read_bytes()
        (path / name).write_bytes(content[: int(part * len(content))])

    return cut_off


def other_network(path):
    tensors, metadata = read_tensors(path / CHECKPOINT)
    write_tensors(path / CHECKPOINT, {name: values[:1] for name, values in tensors.items()}, metadata)


def other_records(path):
    log = path / "metrics.jsonl"
    log.write_text(log.read_text().replace('"train_loss"', '"train_lost"'))


DAMAGE = {
    "another configuration": edited("config.json", batch_size=7),
    "half a configuration": cut("config.json", 0.5),
    "no configuration": lambda path: (path / "config.json").unlink(),
    "a configuration of tomorrow": edited("config.json", format=99),
    "half a checkpoint": cut(CHECKPOINT, 0.5),
    "no checkpoint": lambda path: (path / CHECKPOINT).unlink(),
    "a checkpoint of another network": other_network,
    "half the records": cut("metrics.jsonl", 0.5),
    "no records": lambda path: (path / "metrics.jsonl").unlink(),
    "other records": other_records,
    "half a summary": lambda path: (path / "summary.json").write_text("{"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_begun_anew(job, steps, under_way, tmp_path, damage, as_made_here):
    damage(under_way)
    comparison = compare([job], tmp_path, Here)
    assert steps == [*range(1, 61)]
    assert as_made_here(comparison)


def test_what_was_begun_anew_can_be_gone_on_with(job, steps, under_way, tmp_path, as_made_here):
    other_records(under_way)
    steps.errors[AT] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        compare([job], tmp_path, Here)
    assert as_made_here(compare([job], tmp_path, Here))
    assert steps == [*range(1, AT), *range(LAST + 1, 61)]


# Two processes


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(module, "SECONDS_TO_END", 0.0)


@pytest.mark.usefixtures("impatient")
def test_what_another_process_has_is_waited_for_and_gone_on_with_when_that_ends(job, steps, under_way, tmp_path):
    before = tree(under_way)
    with ThreadPoolExecutor(1) as pool:
        with FileLock(under_way / ".lock"):
            waiting = pool.submit(outcome, job, tmp_path)
            sleep(0.2)
            assert (tree(under_way), steps) == (before, [])
        found, records = waiting.result(60)
    assert steps == [*range(LAST + 1, 61)]
    assert found == run(job.config) | {"seconds": 0}
    assert [record["iteration"] for record in records] == [1, 7, 14, 21, 28, 35, 42, 49, 56, 60]


@pytest.mark.usefixtures("impatient")
def test_what_another_process_finishes_is_its_result(job, steps, under_way, tmp_path):
    whole = outcome(job, tmp_path / "other")
    steps.clear()
    with ThreadPoolExecutor(1) as pool:
        with FileLock(under_way / ".lock"):
            waiting = pool.submit(outcome, job, tmp_path)
            sleep(0.1)
            (tmp_path / "other" / job.folder).rename(tmp_path / job.folder)
            shutil.rmtree(under_way, ignore_errors=True)  # the other looks into it now and then
        assert waiting.result(60) == whole
    assert steps == []


@pytest.mark.usefixtures("impatient")
def test_what_another_process_has_only_just_begun_is_not_tidied_away(tmp_path):
    begun = tmp_path / ".run"
    begun.mkdir()
    with FileLock(begun / ".lock"):
        tidy(begun, over=False)
        assert begun.exists()
    tidy(begun, over=False)
    assert not begun.exists()


def test_two_comparisons_at_once_in_one_folder_end_in_the_same_table(tmp_path):
    args = ("compare", "xor", "--init", "lecun,ortho", "--seeds", "4", "--iterations", "200", "--json", "--out", "runs")
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    both = [subprocess.Popen([*PYTHON_M, *args], cwd=tmp_path, env=env, stdout=subprocess.PIPE) for _ in range(2)]
    first, second = (strict(process.communicate(timeout=300)[0]) for process in both)
    assert first == second
    assert [len(row["values"]) for row in first["rows"]] == [4, 4]
    assert len(finished_runs(tmp_path / "runs")) == 8
    assert list((tmp_path / "runs").glob(".*")) == []
