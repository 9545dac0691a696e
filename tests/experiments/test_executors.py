"""Jobs are done wherever they are sent, and done again if their worker dies."""

import math
import multiprocessing
import os
import signal
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from multiprocessing.connection import wait
from threading import Timer

import pytest

from minisig.errors import MinisigError
from minisig.experiments.executors import FRUITLESS, Here, completed, processes

DEADLY = "its worker process died again and again: is there enough memory?"


def argument(job):
    return (job,)


def results(place, task, jobs):
    return {job: future.result() for job, future in completed(place, task, jobs, argument)}


class Fragile(Executor):
    """Does the first `healthy` tasks it is given, and breaks: the next `lost` it loses, at once if it is `sudden`,
    and then it takes no more."""

    def __init__(self, healthy, lost, *, sudden=True):
        self.healthy, self.lost, self.sudden = healthy, lost, sudden

    def submit(self, fn, /, *args, **kwargs):
        if self.healthy:
            self.healthy -= 1
            return Here().submit(fn, *args, **kwargs)
        if not self.lost:
            raise BrokenProcessPool("a worker died")
        self.lost -= 1
        future = Future()
        Timer(0 if self.sudden else 0.02, future.set_exception, [BrokenProcessPool("a worker died")]).start()
        return future


def places(*pools):
    """One executor after the other, and how many were used."""
    left = list(pools)
    return lambda: left.pop(0), left


@pytest.mark.parametrize("sudden", [True, False])
@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("healthy", [1, 2, 4])
def test_jobs_whose_worker_died_are_done_again_and_no_others(healthy, lost, sudden):
    done = []

    def task(job):
        done.append(job)
        return job * job

    place, left = places(*(Fragile(healthy, lost, sudden=sudden) for _ in range(2)), *[Here()] * 3)
    assert results(place, task, range(5)) == {job: job * job for job in range(5)}
    assert sorted(done) == list(range(5))  # every job once
    assert len(left) == {1: 2, 2: 2, 4: 3}[healthy]


def test_results_come_while_others_are_still_waiting():
    class Slow(Here):
        def submit(self, fn, /, *args, **kwargs):
            assert args[0] == 0 or seen, "the first result was held back"
            return super().submit(fn, *args, **kwargs)

    seen = []
    for job, future in completed(Slow, math.sqrt, [0, 1, 4], argument):
        seen.append((job, future.result()))
    assert seen == [(0, 0.0), (1, 1.0), (4, 2.0)]


def test_workers_that_always_die_are_given_up_job_by_job():
    place, left = places(*[Fragile(0, 2) for _ in range(10)])
    outcomes = [(job, future.exception()) for job, future in completed(place, math.sqrt, [1, 4, 9], argument)]
    assert [job for job, _ in outcomes] == [1, 4, 9]
    assert {(type(error), str(error)) for _, error in outcomes} == {(MinisigError, DEADLY)}
    assert len(left) == 10 - 3 * FRUITLESS


def test_a_finished_run_in_between_is_a_reason_to_go_on():
    hopeless = [Fragile(0, 1) for _ in range(FRUITLESS - 1)]
    place, left = places(*hopeless, Fragile(1, 1), *hopeless, Fragile(1, 1), *hopeless, Here())
    assert results(place, math.sqrt, [1, 4, 9]) == {1: 1.0, 4: 2.0, 9: 3.0}
    assert left == []


def test_a_task_that_fails_has_failed_and_is_not_repeated():
    tried = []

    def task(job):
        tried.append(job)
        raise ZeroDivisionError(job)

    outcomes = {job: future.exception() for job, future in completed(Here, task, [1, 2], argument)}
    assert tried == [1, 2]
    assert {job: (type(error), error.args) for job, error in outcomes.items()} == {
        job: (ZeroDivisionError, (job,)) for job in (1, 2)
    }


def test_without_jobs_nobody_is_bothered():
    def place():
        raise AssertionError("why come here?")

    assert results(place, math.sqrt, []) == {}


def test_a_scheduler_that_has_gone_is_told():
    class Gone(Executor):
        def submit(self, fn, /, *args, **kwargs):
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(MinisigError, match="scheduler has gone"):
        results(Gone, math.sqrt, [1])


def test_an_interruption_here_is_not_taken_for_a_failed_task():
    def task(job):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(completed(Here, task, [1], argument))


# Real processes. What they are to do is Python code, which every process can run.

DIE_ONCE = """
import os, pathlib, signal
try:
    pathlib.Path({path!r}).touch(exist_ok=False)
except FileExistsError:
    pass
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_is_killed_is_replaced(tmp_path):
    jobs = [DIE_ONCE.format(path=str(tmp_path / name)) for name in "ab"]
    assert results(partial(processes, 1), exec, jobs) == dict.fromkeys(jobs)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_a_job_that_always_kills_its_process_is_given_up_and_the_others_are_done():
    deadly = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    runs = completed(partial(processes, 1), exec, [deadly, "1", "2"], argument)
    assert {job: str(future.exception()) for job, future in runs} == {deadly: DEADLY, "1": "None", "2": "None"}


def test_processes_are_other_processes_and_leave_interrupts_to_this_one():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored already
    question = "__import__('os').getpid(), __import__('signal').getsignal(2)"
    try:
        ((pid, handler),) = results(partial(processes, 1), eval, [question]).values()
    finally:
        signal.signal(signal.SIGINT, before)
    assert pid != os.getpid()
    assert handler == signal.SIG_IGN


def test_no_process_is_left_when_the_work_is_given_up():
    started = []

    def give_up():
        with closing(completed(partial(processes, 1), eval, ["0", "__import__('time').sleep(600)"], argument)) as runs:
            next(runs)
            started.extend(multiprocessing.active_children())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        give_up()
    assert len(started) == 1
    # By its end of a pipe: another thread of the executor's may be about to ask the system how it ended.
    assert wait([process.sentinel for process in started], timeout=300)


def test_the_processes_of_others_are_left_alone():
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=eval, args=("__import__('time').sleep(600)",))
    other.start()
    try:
        with pytest.raises(ZeroDivisionError), processes(1):
            raise ZeroDivisionError
        other.join(2)
        assert other.is_alive()
    finally:
        other.kill()
        other.join()
