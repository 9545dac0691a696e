"""Which rows are held out."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisig.data import holdout
from minisig.data.holdout import hold_out
from minisig.data.tables import TableSettings
from minisig.errors import DataError, UsageError

PARTS = ("train", "valid", "test")
SHARES = st.sampled_from([0.05, 0.1, 0.15, 0.2, 0.3])
LABELS = st.lists(st.integers(1, 200), min_size=2, max_size=6).flatmap(
    lambda counts: st.permutations(counts).map(lambda counts: np.repeat(np.arange(len(counts)), counts))
)


@st.composite
def labels(draw):
    y = draw(LABELS.filter(lambda y: len(y) >= 10 and np.bincount(y).max() >= 5))
    return y[np.random.default_rng(draw(st.integers(0, 99))).permutation(len(y))]


@given(labels(), SHARES, SHARES, st.integers(0, 5))
def test_the_parts_are_a_partition_in_the_order_of_the_file(y, valid, test, split):
    parts = hold_out(y, "classification", TableSettings(valid_share=valid, test_share=test, split=split))
    assert list(parts) == list(PARTS)
    assert sorted(np.concatenate([*parts.values()]).tolist()) == list(range(len(y)))
    assert all((np.diff(rows) > 0).all() for rows in parts.values())


@given(labels(), SHARES, SHARES)
def test_every_class_has_its_share_of_every_part_to_within_a_row(y, valid, test):
    parts = hold_out(y, "classification", TableSettings(valid_share=valid, test_share=test))
    tests, valids = max(1, round(test * len(y))), max(1, round(valid * len(y)))
    for label, n in Counter(y.tolist()).items():
        held = {part: int((y[rows] == label).sum()) for part, rows in parts.items()}
        if held["train"] == n:  # it had too few rows
            continue
        assert abs(held["test"] - n * tests / len(y)) < 1
        assert abs(held["valid"] - (n - held["test"]) * valids / (len(y) - tests)) < 1


@given(labels(), SHARES, SHARES)
def test_no_class_is_only_held_out(y, valid, test):
    parts = hold_out(y, "classification", TableSettings(valid_share=valid, test_share=test))
    assert set(y[parts["train"]]) == set(y)


@given(st.lists(st.floats(-1e9, 1e9), min_size=20, max_size=200, unique=True), st.integers(0, 9))
def test_small_and_large_numbers_are_held_out_alike(values, split):
    y = np.array(values).reshape(-1, 1)
    parts = hold_out(y, "regression", TableSettings(split=split))
    ranks = np.argsort(np.argsort(y[:, 0]))[parts["test"]]
    expected = np.linspace(0, len(y), len(ranks), endpoint=False)
    assert (abs(np.sort(ranks) - expected) <= len(y) / len(ranks) + 1).all()


def test_it_is_the_same_every_time_and_another_for_another_split():
    y = np.arange(200) % 3
    held = [hold_out(y, "classification", TableSettings(split=split)) for split in (0, 0, 1, 2)]
    same = lambda a, b: all(np.array_equal(a[part], b[part]) for part in PARTS)  # noqa: E731
    assert same(held[0], held[1])
    assert not same(held[0], held[2])
    assert not same(held[2], held[3])


def test_rows_of_a_class_are_drawn_from_everywhere():
    """A file sorted by time must not be tested on its end alone."""
    parts = hold_out(np.zeros(1000, int) + (np.arange(1000) == 0), "classification", TableSettings())
    assert 380 < parts["test"].mean() < 620
    assert len(np.unique(np.diff(parts["test"]))) > 5


def test_several_targets_are_held_out_too():
    y = np.random.default_rng(0).normal(size=(50, 3))
    parts = hold_out(y, "regression", TableSettings())
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 32, "valid": 8, "test": 10}


def test_of_very_many_rows_no_more_are_held_out_than_help(monkeypatch):
    monkeypatch.setattr(holdout, "MAX_HELD_OUT", 30)
    parts = hold_out(np.arange(1000) % 2, "classification", TableSettings())
    assert [len(parts[part]) for part in PARTS] == [940, 30, 30]


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.2), (0.3, 0.6)])
def test_shares_that_leave_nothing_to_train_on_are_refused(shares):
    with pytest.raises(UsageError, match="leave no rows to train on"):
        hold_out(np.arange(10) % 2, "classification", TableSettings(valid_share=shares[0], test_share=shares[1]))


def test_classes_of_one_row_each_cannot_be_held_out():
    with pytest.raises(DataError, match="at least two of each"):
        hold_out(np.arange(12), "classification", TableSettings())
