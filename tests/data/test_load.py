"""What is asked of a source of data, ours or anybody's, and what it is given."""

from dataclasses import replace

import numpy as np
import pytest

from minisig.data import SOURCES, DataConfig, Dataset, Split, load
from minisig.errors import DataError, UsageError

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


def test_a_source_of_somebody_elses_may_use_any_setting(mine):
    asked, config = mine(DATA), DataConfig(source="mine", delay=3, steps=4, vocabulary=5)
    assert load(config) is DATA
    assert asked == [config]


@pytest.mark.parametrize(
    ("source", "setting", "owner"),
    [("digits", "delay", "copy-memory"), ("copy-memory", "steps", "text"), ("xor", "vocabulary", "text")],
)
def test_a_setting_of_another_source_is_refused_by_ours(source, setting, owner):
    with pytest.raises(UsageError, match=rf"data\.{setting} is a setting of {owner}; leave it out for {source}"):
        load(DataConfig(source=source, **{setting: 7}))
