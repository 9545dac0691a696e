"""A run of a comparison that was interrupted goes on from its last checkpoint, to the same bits."""

import json
import multiprocessing
import os
import shutil
import signal
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest
from filelock import FileLock
from msgspec.json import encode

from minisig.errors import DataError, Diverged
from minisig.experiments.compare import compare, plan, train
from minisig.experiments.executors import Here, cluster, completed
from minisig.experiments.under_way import place_of
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.files import read_tensors, write_tensors
from minisig.training.loop import Training
from minisig.training.run import run
from tests.cli.command import tree
from tests.faults.disk import Disk, little_room

SETTINGS = {"iterations": 60, "network.hidden": [8, 8], "threads": 1, "checkpoint_every": 20, "log_every": 7}
AT = 50  # the iteration before which it is interrupted
LAST = 40  # the one of its last checkpoint then


@pytest.fixture(scope="module")
def job():
    """A run with two checkpoints before its end."""
    (job,) = plan("digits", ["random+ep"], 1, SETTINGS)
    return job


class Steps(list):
    """The iterations that are made; before one of them an error may come, once."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.errors, real = {}, Training.step

        def step(training, iteration):
            if error := self.errors.pop(iteration, None):
                raise error
            self.append(iteration)
            return real(training, iteration)

        monkeypatch.setattr(Training, "step", step)


@pytest.fixture
def steps(monkeypatch):
    return Steps(monkeypatch)


@pytest.fixture
def under_way(job, steps, tmp_path):
    """Where the run of a comparison in tmp_path is under way, which was interrupted."""
    steps.errors[AT] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        compare([job], tmp_path, Here)
    assert steps == [*range(1, AT)]
    steps.clear()
    return place_of(tmp_path, job.folder)


def test_it_goes_on_from_its_last_checkpoint_and_leaves_nothing_behind(job, steps, under_way, tmp_path, as_made_here):
    assert [path.name for path in tmp_path.iterdir()] == [under_way.name]
    seen = []
    comparison = compare([job], tmp_path, Here, watch=lambda record: seen.append(record["iteration"]))
    assert steps == [*range(LAST + 1, 61)]
    assert seen == [42, 49, 56, 60]
    assert [path.name for path in tmp_path.iterdir()] == [job.folder]
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
    places = [Here(), ProcessPoolExecutor(1, mp_context=spawn, initializer=die_before, initargs=(AT,))]
    comparison = compare([job], tmp_path, places.pop)
    assert steps == [*range(LAST + 1, 61)]
    assert as_made_here(comparison)


def test_on_a_cluster_nothing_of_it_is_on_the_disk_of_the_worker(job, dask, tmp_path):
    """That may be this machine's, as here, or not."""
    path, place = tmp_path / "run", partial(cluster, dask.address, gpu=False)
    ((_, future),) = completed(place, train, [job], lambda job: (encode(job.config), str(path)))
    assert future.result()[0] | {"seconds": 0} == run(job.config) | {"seconds": 0}
    assert not path.exists()


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
    path = place_of(tmp_path, "run")
    whole = train(encode(job.config), str(tmp_path / "straight"))[0]
    steps.clear()
    steps.errors[AT] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        train(encode(job.config), str(path))
    data.rename(away)
    with pytest.raises(DataError, match=r"mine\.csv"):
        train(encode(job.config), str(path))
    away.rename(data)
    steps.clear()
    assert train(encode(job.config), str(path))[0] | {"seconds": 0} == whole | {"seconds": 0}
    assert steps == [*range(LAST + 1, 61)]


# What cannot be gone on with is begun anew


def nothing_like_it(path):
    shutil.rmtree(path)
    path.write_text("mine")


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
    "a folder for a configuration": lambda path: ((path / "config.json").unlink(), (path / "config.json").mkdir()),
    "half a checkpoint": cut(CHECKPOINT, 0.5),
    "no checkpoint": lambda path: (path / CHECKPOINT).unlink(),
    "a checkpoint of another network": other_network,
    "half the records": cut("metrics.jsonl", 0.5),
    "no records": lambda path: (path / "metrics.jsonl").unlink(),
    "other records": other_records,
    "a file in its place": nothing_like_it,
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


def test_a_result_that_somebody_left_there_is_none(job, steps, under_way, tmp_path, as_made_here):
    summary = run(job.config) | {"test_error": 0.0}
    steps.clear()
    (under_way / "summary.json").write_text(json.dumps(summary))
    assert as_made_here(compare([job], tmp_path, Here))
    assert steps == [*range(LAST + 1, 61)]


def test_what_another_process_has_is_left_to_it(job, steps, under_way):
    before = tree(under_way)
    with FileLock(under_way / ".lock"):
        found, records = train(encode(job.config), str(under_way))
        assert tree(under_way) == before
    assert steps == [*range(1, 61)]
    assert found | {"seconds": 0} == run(job.config) | {"seconds": 0}
    assert [record["iteration"] for record in records] == [1, 7, 14, 21, 28, 35, 42, 49, 56, 60]


# Room


def results(job, path):
    """What the run comes to at this place, but for the seconds."""
    summary, records = train(encode(job.config), str(path))
    return summary | {"seconds": 0}, records


@pytest.mark.parametrize("most", [0, 1000, 5000])
def test_without_room_for_it_a_run_is_made_all_the_same(job, tmp_path, most):
    whole = results(job, tmp_path / "straight")
    with little_room(most):
        assert results(job, tmp_path / "run") == whole


@pytest.mark.parametrize("torn", [False, True])
def test_whichever_write_fails_the_run_comes_to_the_same(job, steps, tmp_path, torn):
    whole, disk = results(job, tmp_path / "straight"), Disk(tmp_path / "counted")
    with disk.patched():
        assert results(job, tmp_path / "counted") == whole
    assert disk.calls.count("save") == 2  # all of them were counted, those of both checkpoints too
    for n in range(1, len(disk.calls) + 1):
        path = tmp_path / str(n)
        steps.errors[AT] = KeyboardInterrupt()
        with Disk(path, n, torn=torn).patched(), pytest.raises(KeyboardInterrupt):
            results(job, path)
        assert results(job, path) == whole


@pytest.mark.parametrize("torn", [False, True])
def test_whichever_write_fails_when_it_goes_on_the_run_comes_to_the_same(job, steps, under_way, tmp_path, torn):
    whole, disk = results(job, tmp_path / "straight"), Disk(under_way)
    shutil.copytree(under_way, tmp_path / "kept")
    with disk.patched():
        assert results(job, under_way) == whole
    began = []
    for n in range(1, len(disk.calls) + 1):
        shutil.rmtree(under_way)
        shutil.copytree(tmp_path / "kept", under_way)
        steps.clear()
        with Disk(under_way, n, torn=torn).patched():
            assert results(job, under_way) == whole
        began.append(steps[0])
    early = disk.calls.index("truncate") + 1  # a lock that cannot be had, a log that cannot be rewound
    assert began == [1] * early + [LAST + 1] * (len(began) - early)


def test_its_end_is_no_checkpoint_for_the_result_is_there_at_once(job, tmp_path):
    results(job, tmp_path / "run")
    position = json.loads(read_tensors(tmp_path / "run" / CHECKPOINT)[1]["position"])
    assert position["iteration"] == LAST
