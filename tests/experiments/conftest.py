"""Tiny comparisons, and a Dask cluster of real processes on this machine."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here
from minisig.experiments.results import unfinished
from minisig.report.comparison import comparison_csv, comparison_markdown
from tests.cli.command import wait_until
from tests.experiments.interrupted import AT, SETTINGS, Steps

TINY = {"iterations": 60, "network.hidden": [8, 8], "threads": 1}


def everything(comparison):
    """All that a comparison holds, but for the seconds it took."""
    rows = [
        (
            row.name,
            row.mean,
            row.std,
            [(result.job, result.summary | {"seconds": 0}, result.metrics) for result in row.results],
        )
        for row in comparison.rows
    ]
    csv = [line.rpartition(",")[0] for line in comparison_csv(comparison).splitlines()]
    return rows, csv, comparison_markdown(comparison)


@pytest.fixture(scope="session")
def jobs():
    """Four runs of a fraction of a second."""
    return plan("digits", ["random+ep", "lecun"], 2, TINY)


@pytest.fixture(scope="session")
def longer_jobs():
    """Six runs, each long enough to be interrupted in the middle."""
    return plan("digits", ["random+ep", "lecun"], 3, TINY | {"iterations": 400})


@pytest.fixture(scope="session")
def nowhere():
    """A place that nobody may go to."""

    @contextmanager
    def place():
        raise AssertionError("a run is being made")
        yield

    return place


@pytest.fixture(scope="session")
def as_made_here(tmp_path_factory):
    """Whether a comparison is number for number the one that this process makes, one run after the other."""
    made = {}

    def same(comparison):
        jobs = tuple(result.job for row in comparison.rows for result in row.results)
        if jobs not in made:
            made[jobs] = everything(compare(jobs, tmp_path_factory.mktemp("here"), Here))
        return everything(comparison) == made[jobs]

    return same


class Cluster:
    """A scheduler, and the workers that are started for it."""

    def __init__(self, folder):
        self.folder, self.file, self.started = folder, folder / "scheduler.json", 0

    @property
    def address(self):
        return json.loads(self.file.read_text())["address"]

    @contextmanager
    def process(self, *args, env=None):
        """A Dask process and the file of its log."""
        self.started += 1
        log = self.folder / f"{self.started}.log"
        command = [sys.executable, "-m", "dask", *args, "--scheduler-file", str(self.file)]
        with log.open("wb") as file:
            process = subprocess.Popen(command, stderr=file, stdout=file, env=os.environ | (env or {}))
        try:
            yield process, log
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def worker(self, *args, env=None):
        """A worker and its address. Its environment lets BLAS have two threads, as if nobody had thought of them."""
        options = ("--host", "127.0.0.1", "--no-dashboard", "--no-nanny", "--local-directory", str(self.folder))
        with self.process("worker", *options, *args, env={"OPENBLAS_NUM_THREADS": "2"} | (env or {})) as (process, log):
            wait_until(lambda: "Registered to" in log.read_text() or process.poll() is not None)
            (line,) = (line for line in log.read_text().splitlines() if "Start worker at" in line)
            yield process, line.split()[-1]


@pytest.fixture(scope="session")
def start_cluster(tmp_path_factory):
    """Start a scheduler without workers."""
    pytest.importorskip("distributed")

    @contextmanager
    def start():
        cluster = Cluster(tmp_path_factory.mktemp("dask"))
        with cluster.process("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard") as (process, _):
            wait_until(lambda: cluster.file.exists() and cluster.file.read_text().endswith("}"))
            yield cluster, process

    return start


@pytest.fixture(scope="session")
def dask(start_cluster):
    """A cluster of two workers with one thread each, of which the second says that it has a GPU."""
    with (
        start_cluster() as (cluster, _),
        cluster.worker("--nthreads", "1"),
        cluster.worker("--nthreads", "1", "--resources", "GPU=1") as (cluster.with_gpu, _),
    ):
        yield cluster


@pytest.fixture(scope="session")
def empty_dask(start_cluster):
    """A cluster with no worker but those that a test starts."""
    with start_cluster() as (cluster, _):
        yield cluster


@pytest.fixture(scope="module")
def job():
    """A run with two checkpoints before its end."""
    (job,) = plan("digits", ["random+ep"], 1, SETTINGS)
    return job


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
    return unfinished(tmp_path / job.folder)
