"""A run has as many threads of BLAS as it asks for, whatever else goes on in its process."""

from threading import Thread

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from minisig.experiments import configure
from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here
from minisig.training.run import run


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
    run(
        configure("xor", {"iterations": 3, "threads": threads}),
        observers=[lambda record: during.extend(blas_threads())],
    )
    assert set(during) == {seen}
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_run_that_fails_gives_the_threads_of_blas_back():
    def fail(record):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(configure("xor", {"iterations": 3, "threads": 1}), observers=[fail])
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_comparison_made_here_gives_the_threads_of_blas_back(tmp_path):
    during = []
    jobs = plan("xor", ["lecun"], 2, {"iterations": 3, "threads": 1})
    compare(jobs, tmp_path, Here, observers=[lambda record: during.extend(blas_threads())])
    assert set(during) == {1}
    assert set(blas_threads()) == {2}
