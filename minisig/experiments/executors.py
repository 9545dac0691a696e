"""Where the runs of a comparison are made. All three are a `concurrent.futures.Executor`, and one code path uses them.

here            one run after the other, in this process
processes       on this machine; one that dies takes its run with it, which is made again
cluster         of an existing Dask scheduler; results come back through the client, no disk is shared
"""

import json
import logging
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

from minisig import __version__
from minisig.errors import MinisigError, UsageError

Work = TypeVar("Work")
OpenExecutor = Callable[[], AbstractContextManager[Executor]]

SECONDS_TO_CONNECT = 10
SECONDS_BETWEEN_LOOKS = 5.0  # whether there are workers
MAX_BYTES = 2**20  # of a scheduler file
FRUITLESS = 3  # times that the workers may die with no run finished in between, all but the first of a run alone


class Here(Executor):
    """Runs at once what is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _DeafProcess(SpawnProcess):
    """Born with Ctrl-C blocked, which is the parent's: it would end in a traceback while it is still importing."""

    def start(self) -> None:
        if not hasattr(signal, "pthread_sigmask"):
            return super().start()
        resource_tracker.ensure_running()  # which unblocks it when it begins
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Fresh(SpawnContext):
    """Fresh processes: a fork of one with BLAS threads in it can hang."""

    Process = _DeafProcess  # type: ignore[assignment]


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(workers, mp_context=_Fresh(), initializer=_follow_the_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        raise
    pool.shutdown()


def _follow_the_parent() -> None:
    """In a worker: leave interrupts to the parent, and do not outlive it, whatever ended it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def cluster(scheduler: str, *, gpu: bool) -> Iterator[Executor]:
    """The cluster at an address such as tcp://host:8786, or described by a scheduler file."""
    try:
        import distributed
    except ImportError:
        raise MinisigError("--scheduler needs Dask: pip install 'minisig[cluster]'") from None
    connect: Any = distributed.Client
    address = _address(scheduler)
    try:
        client = connect(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise MinisigError(f"no Dask scheduler at {scheduler}: {error or type(error).__name__}") from None
    with _quiet(), client:
        _require_same_version(client)
        if gpu and not any(client.run(_has_gpu).values()):
            raise MinisigError(
                "no Dask worker has the resource GPU, which --backend cupy asks for: start one with "
                "'dask worker ADDRESS --resources GPU=1'"
            )
        executor = client.get_executor(pure=False, **({"resources": {"GPU": 1}} if gpu else {}))
        try:
            with _telling_of_lost_workers(client):
                yield executor
        except BaseException:
            executor.shutdown(wait=False)
            raise


def given_up() -> Callable[[], int | None] | None:
    """On a Dask worker, what gives SIGTERM once nobody waits for its run any more; None elsewhere."""
    try:
        worker = sys.modules["distributed"].get_worker()
    except (KeyError, ValueError):  # not imported, or imported by a client
        return None
    key, tasks = worker.get_current_task(), worker.state.tasks
    return lambda: None if key in tasks and tasks[key].state != "cancelled" else signal.SIGTERM


@contextmanager
def _quiet() -> Iterator[None]:
    """What Dask logs, tracebacks among it, is of its own insides; what matters of it comes as an exception."""
    names = [name for name in logging.Logger.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


@contextmanager
def _telling_of_lost_workers(client: Any) -> Iterator[None]:
    """Say once that no worker is left: the scheduler keeps the runs for the next one, and would wait in silence."""
    over = Event()

    def look() -> None:
        some = True
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            try:
                before, some = some, bool(client.nthreads())
            except Exception:  # the scheduler has gone, which the runs tell
                return
            if before and not some:
                logging.getLogger(__name__).warning(
                    "no Dask worker is left; the runs wait for one: start it with 'dask worker ADDRESS'"
                )

    Thread(target=look, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def choose_executor(workers: int | None, scheduler: str | None, *, gpu: bool = False) -> OpenExecutor:
    """Where to make the runs: on the cluster, in so many processes, or here."""
    if scheduler:
        return partial(cluster, scheduler, gpu=gpu)
    return partial(processes, workers) if workers else Here


def _address(scheduler: str) -> str:
    """The address itself, or the one in a scheduler file; checked here, for Dask waits for ever for a file to come."""
    if ":" not in scheduler:
        try:
            with Path(scheduler).open("rb") as file:
                scheduler = json.loads(file.read(MAX_BYTES))["address"]
        except OSError as error:
            raise UsageError(f"{scheduler}: cannot be read as a scheduler file: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{scheduler}: not a scheduler file; start one with 'dask scheduler'") from None
    if not re.fullmatch(r"((tcp|tls|ucxx?|wss?)://)?([^:\s]+|\[[0-9a-fA-F:.%\w]+\]):\d{1,5}", str(scheduler)):
        raise UsageError(f"{str(scheduler)[:100]}: not an address such as tcp://host:8786, nor a scheduler file")
    return scheduler


def _require_same_version(client: Any) -> None:
    from importlib.metadata import version

    found = client.run(version, "minisig", on_error="return")
    if not found:
        raise MinisigError("the Dask scheduler has no workers: start some with 'dask worker ADDRESS'")
    wrong = {worker: answer for worker, answer in found.items() if answer != __version__}
    if wrong:
        worker, answer = next(iter(wrong.items()))
        has = "no minisig" if isinstance(answer, Exception) else f"minisig {answer}"
        raise MinisigError(
            f"{len(wrong)} of {len(found)} Dask workers cannot be used: {worker} has {has}, this is {__version__}; "
            f"install the same version there"
        )


def _has_gpu(dask_worker: Any) -> bool:
    """On a worker: whether it was started with that resource."""
    return "GPU" in dask_worker.state.total_resources


def completed(
    open_executor: OpenExecutor,
    task: Callable[..., Any],
    jobs: Sequence[Work],
    payload: Callable[[Work], tuple[Any, ...]],
) -> Generator[tuple[Work, Future[Any]], None, None]:
    """Every job and what came of task(*payload(job)), as they finish; those of workers that died are done again.

    Once no job has finished before the workers died, the next one is tried alone, for it may be what kills them.
    """
    waiting = list(jobs)
    fruitless = 0
    while waiting:
        before = len(waiting)
        with open_executor() as executor:
            for job, future in _round(executor, task, waiting[:1] if fruitless else waiting, payload):
                if not isinstance(_failure(future), BrokenExecutor):
                    waiting.remove(job)
                    yield job, future
        fruitless = 0 if len(waiting) < before else fruitless + 1
        if fruitless == FRUITLESS:
            fruitless, deadly = 0, Future[Any]()
            deadly.set_exception(MinisigError("its worker process died again and again: is there enough memory?"))
            yield waiting.pop(0), deadly


def _round(
    executor: Executor, task: Callable[..., Any], jobs: Sequence[Work], payload: Callable[[Work], tuple[Any, ...]]
) -> Iterator[tuple[Work, Future[Any]]]:
    futures: dict[Future[Any], Work] = {}
    for job in list(jobs):
        try:
            futures[executor.submit(task, *payload(job))] = job
        except BrokenExecutor:
            break
        for future in [future for future in futures if future.done()]:
            yield futures.pop(future), future
    for future in as_completed(futures):
        yield futures[future], future


def _failure(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError:
        raise MinisigError("the Dask scheduler has gone; finished runs are kept, the same command goes on") from None
