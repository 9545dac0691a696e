"""A Dask cluster of real processes gives the same table, loses workers without harm, and is told apart from none."""

import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from minisig import __version__
from minisig.errors import MinisigError
from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here, cluster, completed
from tests.cli.command import wait_until

distributed = pytest.importorskip("distributed")

# minisig with less patience for a scheduler that is not there
CLI = """
from minisig.experiments import executors
executors.SECONDS_TO_CONNECT = 1
from minisig.cli import main
main(prog_name="minisig")
"""
ENDLESS = 10**8  # iterations
BLAS_THREADS = "{p['num_threads'] for p in __import__('threadpoolctl').threadpool_info() if p['user_api'] == 'blas'}"


def cli(*args, **options):
    command = [sys.executable, "-c", CLI, "compare", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def refused(folder, scheduler, code=1, **options):
    """The one line in which a comparison says why it cannot be made; it leaves nothing behind."""
    done = cli(
        "xor", "--init", "lecun", "--seeds", 1, "--iterations", 2, "--scheduler", scheduler, cwd=folder, **options
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(r"Error: .*\n", done.stderr)
    assert not (folder / "runs").exists()
    return done.stderr


def on(cluster_, **options):
    return partial(cluster, cluster_.address, **{"gpu": False} | options)


def answers(place, question, times):
    """What so many tasks answer to a piece of Python."""
    return [future.result() for _, future in completed(place, eval, range(times), lambda job: (question,))]


# The same table


def test_a_cluster_gives_the_table_of_one_process(jobs, dask, tmp_path, as_made_here):
    assert as_made_here(compare(jobs, tmp_path, on(dask)))
    assert {path.name for path in tmp_path.iterdir()} == {job.folder for job in jobs}


def test_a_worker_with_two_threads_gives_the_table_of_one_process(longer_jobs, empty_dask, tmp_path, as_made_here):
    with empty_dask.worker("--nthreads", "2"):
        assert as_made_here(compare(longer_jobs, tmp_path, on(empty_dask)))


def test_a_run_that_ends_leaves_the_threads_of_blas_to_the_others_of_its_worker(jobs, empty_dask, tmp_path):
    with empty_dask.worker("--nthreads", "2"):
        compare(jobs[:1], tmp_path, on(empty_dask))
        assert answers(on(empty_dask), BLAS_THREADS, 1) == [{1}]


def test_a_worker_that_is_killed_ends_in_the_same_table(longer_jobs, dask, tmp_path, as_made_here):
    def kill():
        with distributed.Client(dask.address, set_as_default=False) as client:
            wait_until(lambda: client.processing().get(address))  # it is in the middle of a run
        process.kill()

    with dask.worker("--nthreads", "2") as (process, address), ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill)
        assert as_made_here(compare(longer_jobs, tmp_path, on(dask)))
        killing.result()
        assert process.wait(60) < 0


def test_that_no_worker_is_left_is_told_and_the_next_one_goes_on(empty_dask, monkeypatch, caplog, tmp_path):
    killed = tmp_path / "killed"
    question = f"(__import__('time').sleep(0 if __import__('os').path.exists({str(killed)!r}) else 600), 42)[1]"

    def told():
        return [record.getMessage() for record in caplog.records if record.name.startswith("minisig")]

    monkeypatch.setattr("minisig.experiments.executors.SECONDS_BETWEEN_LOOKS", 0.1)
    with ThreadPoolExecutor(1) as pool, distributed.Client(empty_dask.address, set_as_default=False) as client:
        with empty_dask.worker("--nthreads", "1") as (process, address):
            answer = pool.submit(answers, on(empty_dask), question, 1)
            wait_until(lambda: client.processing().get(address))
            process.kill()
        killed.touch()
        wait_until(told)
        with empty_dask.worker("--nthreads", "1"):
            assert answer.result(60) == [42]
    assert told() == ["no Dask worker is left; the runs wait for one: start it with 'dask worker ADDRESS'"]


def test_a_failure_on_a_worker_is_the_same_failure(dask, tmp_path):
    path = tmp_path / "constant.npz"
    np.savez(path, x_train=np.tile([1.0, 2.0], (40, 1)), y_train=np.arange(40) % 2)  # EP has no weights for it
    settings = {"data.path": str(path), "iterations": 5, "network.hidden": [4], "threads": 1}
    jobs = plan("digits", ["lecun", "random+ep"], 2, settings)
    here, there = compare(jobs, tmp_path / "here", Here), compare(jobs, tmp_path / "there", on(dask))
    assert len(here.failures) == 2
    assert [(type(error), str(error)) for error in there.failures] == [
        (type(error), str(error)) for error in here.failures
    ]
    assert [row.values for row in there.rows] == [row.values for row in here.rows]


def test_the_command_line_goes_to_a_cluster_quietly(dask, tmp_path):
    args = ("xor", "--init", "lecun,ortho", "--seeds", 2, "--iterations", 5, "--format", "markdown")
    there = cli(*args, "--scheduler", dask.file, "--out", tmp_path / "there")
    here = cli(*args, "--out", tmp_path / "here")
    assert (there.returncode, there.stderr) == (0, "")
    assert there.stdout == here.stdout


# Which workers, and how they are asked


@pytest.mark.parametrize("how", ["address", "address without scheme", "file", "relative file"])
def test_a_cluster_is_found_by_address_or_file(dask, how, monkeypatch):
    monkeypatch.chdir(dask.folder)
    names = {
        "address": dask.address,
        "address without scheme": dask.address.removeprefix("tcp://"),
        "file": str(dask.file),
        "relative file": dask.file.name,
    }
    assert answers(partial(cluster, names[how], gpu=False), "6 * 7", 1) == [42]


def test_the_same_task_twice_is_done_twice(dask):
    assert len(set(answers(on(dask), "__import__('uuid').uuid4().hex", 3))) == 3


def test_runs_on_a_gpu_go_to_workers_that_have_one(dask):
    slow_pid = "(__import__('time').sleep(0.05), __import__('os').getpid())[1]"
    assert len(set(answers(on(dask), slow_pid, 6))) == 2
    assert set(answers(on(dask, gpu=True), slow_pid, 6)) == {dask.with_gpu.pid}


def test_a_cluster_without_a_gpu_is_refused_and_not_waited_for(empty_dask):
    with (
        empty_dask.worker("--nthreads", "1"),
        pytest.raises(MinisigError, match=r"no Dask worker has the resource GPU.*--resources GPU=1"),
        on(empty_dask, gpu=True)(),
    ):
        pass


def test_nobody_elses_tasks_go_to_the_cluster(dask):
    with on(dask)(), pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()


# Clusters that cannot be used


@pytest.mark.parametrize(("family", "host"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")], ids=["IPv4", "IPv6"])
def test_a_scheduler_that_is_not_there_is_told_in_one_line(tmp_path, family, host):
    with socket.socket(getattr(socket, family)) as nobody:  # its port is taken, but nobody listens
        try:
            nobody.bind((host, 0))
        except OSError:
            pytest.skip(f"no {host} here")
        address = f"tcp://{f'[{host}]' if ':' in host else host}:{nobody.getsockname()[1]}"
        assert refused(tmp_path, address).startswith(f"Error: no Dask scheduler at {address}: ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nosuch.json", None),
        ("empty.json", "{}"),
        ("half.json", '{"address": "tcp'),
        ("tcp://127.0.0.1:port", None),
        ("pigeon://127.0.0.1:9", None),
    ],
)
def test_what_describes_no_scheduler_is_told_in_one_line(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_text(content)
    assert name in refused(tmp_path, name, code=2)


def test_a_scheduler_without_workers_is_told_in_one_line(empty_dask, tmp_path):
    assert "has no workers" in refused(tmp_path, empty_dask.address)


HIDDEN = """
import importlib.metadata as metadata
known = metadata.version
def version(name):
    if name == "minisig":
        {answer}
    return known(name)
metadata.version = version
"""


@pytest.mark.parametrize(
    ("answer", "has"),
    [('return "0.0.7"', "minisig 0.0.7"), ("raise metadata.PackageNotFoundError(name)", "no minisig")],
)
def test_a_worker_with_another_minisig_is_named_beside_both_versions(empty_dask, tmp_path, answer, has):
    (tmp_path / "sitecustomize.py").write_text(HIDDEN.format(answer=answer))
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    with empty_dask.worker("--nthreads", "1", env={"PYTHONPATH": path}) as (_, address):
        complaint = refused(tmp_path, empty_dask.address)
    assert f"1 of 1 Dask workers cannot be used: {address} has {has}, this is {__version__}" in complaint


def test_without_dask_a_scheduler_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MinisigError, match=r"pip install 'minisig\[cluster\]'"), cluster("tcp://here:1", gpu=False):
        pass


def test_a_scheduler_that_dies_is_told_in_one_line(start_cluster, tmp_path):
    args = ("xor", "--init", "lecun", "--seeds", 1, "--iterations", ENDLESS, "--out", tmp_path / "runs")
    with start_cluster() as (doomed, scheduler), doomed.worker("--nthreads", "1") as (_, address):
        with ThreadPoolExecutor(1) as pool:
            told = pool.submit(cli, *args, "--scheduler", doomed.address)
            with distributed.Client(doomed.address, set_as_default=False) as client:
                wait_until(lambda: client.processing().get(address))
            scheduler.kill()
        assert (
            told.result().stderr
            == "Error: the Dask scheduler has gone; finished runs are kept, the same command goes on\n"
        )


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_nobody_waits_for_ends_on_its_worker(empty_dask, tmp_path, sign):
    args = ("compare", "xor", "--init", "lecun", "--seeds", "1", "--iterations", ENDLESS, "--out", tmp_path / "runs")
    with (
        empty_dask.worker("--nthreads", "1") as (_, address),
        distributed.Client(empty_dask.address, set_as_default=False) as client,
    ):
        command = [sys.executable, "-m", "minisig", *map(str, args), "--scheduler", empty_dask.address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: client.processing().get(address))
            process.send_signal(sign)
        assert answers(on(empty_dask), "42", 1) == [42]  # its one thread is free again


def test_a_scheduler_that_dies_keeps_what_is_finished(longer_jobs, start_cluster, tmp_path, as_made_here):
    kept = set()

    def kill(job, outcome):
        kept.add(job.folder)
        scheduler.kill()

    with (
        start_cluster() as (doomed, scheduler),
        doomed.worker("--nthreads", "1"),
        pytest.raises(MinisigError, match="scheduler has gone; finished runs are kept"),
    ):
        compare(longer_jobs, tmp_path, on(doomed), finished=kill)
    assert {path.name for path in tmp_path.iterdir()} == kept
    assert as_made_here(compare(longer_jobs, tmp_path, Here))
