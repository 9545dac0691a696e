"""Minibatches: every row at most once an epoch, and each known from its iteration alone."""

import numpy as np
import pytest

from minisig.data import Split

ROWS = 23


def numbered(rows=ROWS):
    """A split whose only input is the row's number, and its label the number mod 3."""
    return Split(np.arange(rows, dtype=np.float32)[:, None], np.arange(rows) % 3)


def rows_of(batches, iteration):
    batch = batches.at(iteration)
    x, y = batch.x, batch.labels
    rows = x[:, 0].astype(int)
    np.testing.assert_array_equal(y, rows % 3)  # labels stay with their inputs
    return rows.tolist()


def epoch(batches, number):
    """The rows of each batch of that epoch."""
    first = number * batches.shuffle.per_epoch + 1
    return [rows_of(batches, iteration) for iteration in range(first, first + batches.shuffle.per_epoch)]


def flat(drawn):
    return [row for batch in drawn for row in batch]


@pytest.mark.parametrize("size", [1, 2, 5, 7, 11, 12, 22, 23])
def test_in_an_epoch_every_batch_is_full_and_no_row_comes_twice(size):
    batches = numbered().batches(size, seed=0)
    assert batches.shuffle.per_epoch == ROWS // size
    for number in range(4):
        drawn = epoch(batches, number)
        assert {len(batch) for batch in drawn} == {size}
        assert len(set(flat(drawn))) == len(flat(drawn)) == size * (ROWS // size)


def test_rows_left_out_of_one_epoch_come_in_another():
    batches = numbered().batches(7, seed=0)
    seen = {row for number in range(30) for row in flat(epoch(batches, number))}
    assert seen == set(range(ROWS))  # missed with probability 23 · (2/23)³⁰


@pytest.mark.parametrize("iteration", [1, 3, 4, 7, 10, 1000])
def test_a_batch_asked_for_first_is_the_one_reached_in_order(iteration):
    walked = numbered().batches(7, seed=5)
    for i in range(1, iteration):
        walked.at(i)
    assert rows_of(numbered().batches(7, seed=5), iteration) == rows_of(walked, iteration)


def test_going_back_gives_the_same_batches_again():
    batches = numbered().batches(5, seed=0)
    forth = [rows_of(batches, i) for i in range(1, 21)]
    back = [rows_of(batches, i) for i in range(20, 0, -1)]
    assert forth == back[::-1]


def test_epochs_differ_from_each_other():
    batches = numbered().batches(5, seed=0)
    orders = {tuple(flat(epoch(batches, number))) for number in range(20)}
    assert len(orders) == 20


def test_another_seed_shuffles_otherwise():
    assert epoch(numbered().batches(5, seed=0), 0) != epoch(numbered().batches(5, seed=1), 0)


def test_every_row_is_as_likely_as_any_other_in_the_first_batch():
    seeds, size = 2000, 5
    counts = np.bincount(
        [row for seed in range(seeds) for row in rows_of(numbered().batches(size, seed), 1)], minlength=ROWS
    )
    p = size / ROWS
    assert abs(counts - seeds * p).max() < 5 * np.sqrt(seeds * p * (1 - p))


@pytest.mark.parametrize("size", [23, 24, 10**9])
def test_a_batch_larger_than_the_data_is_all_the_data_each_time(size):
    batches = numbered().batches(size, seed=0)
    assert batches.shuffle.per_epoch == 1
    for iteration in (1, 2, 17):
        assert sorted(rows_of(batches, iteration)) == list(range(ROWS))


def test_a_batch_is_a_copy_that_may_be_changed():
    split = numbered()
    batch = split.batches(5, seed=0).at(1)
    x, y = batch.x, batch.labels
    x[:], y[:] = -1, -1
    np.testing.assert_array_equal(split.x, numbered().x)
    np.testing.assert_array_equal(split.y, numbered().y)
