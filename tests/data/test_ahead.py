"""Batches made ahead of time: the same ones, in time, and nothing left behind."""

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisig.backends import get_backend
from minisig.data import Batch
from minisig.data.ahead import Ahead
from minisig.data.augment import Distorted, Distortion
from minisig.data.config import Augment
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.loop import Training

WAIT = 120  # seconds after which a test gives up; none is waited for


class Numbered:
    """Batches that say their number and which thread made them; some wait, some fail."""

    def __init__(self, waiting=(), failing=()):
        self.waiting, self.failing = waiting, failing
        self.go = threading.Event()
        self.begun = {i: threading.Event() for i in range(1, 10)}
        self.threads = set()

    def at(self, iteration):
        self.threads.add(threading.current_thread())
        self.begun[iteration].set()
        if iteration in self.waiting:
            assert self.go.wait(WAIT)
        if iteration in self.failing:
            raise ZeroDivisionError(f"batch {iteration} is broken")
        return Batch(iteration, iteration)


def distorted(data):
    return Distorted(data.train.batches(400, 0), Distortion(Augment(), data.image, data.background, get_backend()), 0)


@pytest.fixture(scope="module")
def expected(digits):
    return {i: distorted(digits).at(i) for i in range(1, 9)}  # four epochs


@given(asked=st.lists(st.integers(1, 8), min_size=1, max_size=8))
def test_any_order_of_requests_is_answered_with_the_right_batches(digits, expected, asked):
    ahead = Ahead(distorted(digits))
    for i in (*asked, asked[-1]):
        batch = ahead.at(i)
        np.testing.assert_array_equal(batch.x, expected[i].x)
        np.testing.assert_array_equal(batch.labels, expected[i].labels)


@pytest.mark.parametrize("asked", [[1, 2, 3, 4], [2, 2, 2, 3], [5, 1, 6, 2, 7, 3], [4, 3, 2, 1, 2]])
def test_sequences_repetitions_and_jumps_alike(asked):
    ahead = Ahead(Numbered())
    assert [ahead.at(i).x for i in asked] == asked


def test_the_next_batch_is_begun_before_it_is_asked_for():
    batches = Numbered()
    ahead = Ahead(batches)
    assert ahead.at(3).x == 3
    assert batches.begun[4].wait(WAIT)
    assert not batches.begun[5].is_set()


def test_a_batch_is_handed_over_while_the_next_is_still_being_made():
    batches = Numbered(waiting=[2])
    ahead = Ahead(batches)
    assert ahead.at(1).x == 1
    assert batches.begun[2].wait(WAIT)
    batches.go.set()
    assert ahead.at(2).x == 2


def test_a_batch_that_was_made_ahead_is_not_made_again():
    made = []

    class Counted:
        def at(self, iteration):
            made.append(iteration)
            return Batch(iteration, iteration)

    ahead = Ahead(Counted())
    for i in (1, 2, 3, 4):
        ahead.at(i)
    ahead.worker.shutdown()
    assert made == [1, 2, 3, 4, 5]


def test_all_batches_are_made_by_one_thread_and_one_after_the_other():
    batches = Numbered(waiting=[2])
    ahead = Ahead(batches)
    ahead.at(1)
    assert batches.begun[2].wait(WAIT)
    caller = threading.Thread(target=ahead.at, args=[5])
    caller.start()
    assert not batches.begun[5].wait(0.2)
    batches.go.set()
    caller.join(WAIT)
    assert ahead.at(6).x == 6
    (thread,) = batches.threads
    assert thread not in (threading.current_thread(), caller)


def test_what_goes_wrong_with_a_batch_is_told_to_who_asks_for_it_and_to_nobody_else():
    ahead = Ahead(Numbered(failing=[3]))
    assert [ahead.at(i).x for i in (1, 2)] == [1, 2]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="batch 3 is broken"):
            ahead.at(3)
    assert [ahead.at(i).x for i in (4, 2)] == [4, 2]


def test_the_thread_ends_when_nobody_wants_its_batches_any_more():
    batches = Numbered()
    ahead = Ahead(batches)
    ahead.at(1)
    (thread,) = batches.threads
    del ahead
    gc.collect()
    thread.join(WAIT)
    assert not thread.is_alive()


def trained(data):
    settings = {"network.hidden": [30, 30], "iterations": 40, "log_every": 1, "validate_every": 20, "data.augment": {}}
    config = configure("digits", settings)
    training = Training(build_network(config, data), data, config)
    return training, list(training)


def test_training_with_batches_made_ahead_gives_the_same_bits_as_without_and_again(digits, monkeypatch):
    ahead, records = trained(digits)
    assert isinstance(ahead.batches, Ahead)
    assert trained(digits)[1] == records
    monkeypatch.setattr("minisig.training.loop.Ahead", lambda batches: batches)
    plain, plain_records = trained(digits)
    assert isinstance(plain.batches, Distorted)
    assert plain_records == records
    for name, w in plain.net.params.items():
        np.testing.assert_array_equal(ahead.net.params[name], w)
        np.testing.assert_array_equal(ahead.best[name], plain.best[name])


ENDING = """
import sys
from minisig.experiments import configure
from minisig.training.loop import Training
from minisig.data import load
from minisig.models import build_network

data = load("digits")
config = configure("digits", {"data.augment": {}, "iterations": 1000})
training = Training(build_network(config, data), data, config)
for record in training:
    if record["iteration"] > 50:
        break
print("done", flush=True)
"""


@pytest.mark.parametrize(
    ("end", "code"), [("", 0), ("sys.exit(3)", 3), ("raise KeyError('x')", 1), ("raise KeyboardInterrupt", -2)]
)
def test_a_process_ends_with_batches_still_under_way(end, code):
    result = subprocess.run([sys.executable, "-c", ENDING + end], capture_output=True, text=True, timeout=WAIT)
    assert result.stdout == "done\n"
    assert result.returncode == code, result.stderr
