"""What is asked of a source of data, ours or anybody's, and what it is given."""

from dataclasses import replace

import numpy as np
import pytest

from minisig.data import SOURCES, Dataset, Split, load
from minisig.errors import DataError
from minisig.settings import Settings

GOOD = Split(np.zeros((3, 2), np.float32), np.arange(3))
DATA = Dataset("mine", GOOD, GOOD, GOOD, classes=3)


@pytest.fixture
def mine(monkeypatch):
    """A source of this name that gives these data; the configurations that it was asked with."""

    def give(data):
        asked = []
        monkeypatch.setitem(SOURCES.rows, "mine", lambda config, seed: asked.append(config) or data)
        return asked

    return give


@pytest.mark.parametrize("label", [-1, 3])
@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_labels_that_are_no_classes_are_refused_by_their_part(mine, part, label):
    mine(replace(DATA, **{part: Split(GOOD.x, np.array([0, 1, label]))}))
    with pytest.raises(DataError, match=f"data 'mine': the labels of {part} are not all among 0 … 2"):
        load("mine")


@pytest.mark.parametrize("bad", [Split(GOOD.x[0], GOOD.y), Split(GOOD.x, GOOD.y[:2]), Split(GOOD.x, GOOD.y / 1)])
@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_arrays_of_another_kind_are_refused_by_their_part(mine, part, bad):
    mine(replace(DATA, **{part: bad}))
    with pytest.raises(DataError, match=rf"expected x \(N, n\) and integer labels y \(N,\) for {part}, got"):
        load("mine")


def test_a_source_of_somebody_elses_is_asked_with_its_own_settings(mine):
    class Own(Settings):
        size: int = 3

    asked = mine(DATA)
    SOURCES["mine"].Settings = Own
    assert load({"source": "mine", "size": 4}) is DATA
    assert load("mine") is DATA
    assert [config.size for config in asked] == [4, 3]


def test_targets_that_are_numbers_go_with_a_loss_for_them(mine):
    numbers = Split(GOOD.x, np.array([[0.5], [1.5], [2.5]]))
    mine(Dataset("mine", numbers, numbers, numbers, classes=1, loss="mean-squared-error"))
    assert load("mine").train.y.dtype == np.float64
    mine(Dataset("mine", numbers, numbers, numbers, classes=2, loss="mean-squared-error"))
    with pytest.raises(DataError, match=r"expected x \(N, n\) and targets y \(N, 2\) for train, got"):
        load("mine")
