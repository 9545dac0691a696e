"""The copy-memory task is the paper's."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from minisig.data import load

DELAY = 7


@pytest.fixture(scope="module")
def data():
    return load({"source": "copy-memory", "delay": DELAY}, seed=3)


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_every_sequence_is_symbols_blanks_trigger_blanks(data, part):
    sequences = getattr(data, part)
    assert sequences.x.shape == sequences.y.shape == (1000, DELAY + 6)
    for x, y in zip(sequences.x[:50], sequences.y[:50], strict=True):
        symbols = list(x[:3])
        assert set(symbols) <= set(range(8))
        assert list(x) == symbols + [8] * (DELAY - 1) + [9] + [8] * 3
        assert list(y) == [8] * (DELAY + 3) + symbols


def test_symbols_are_uniform_and_independent(data):
    symbols = data.train.x[:, :3]
    counts = np.bincount(symbols.ravel(), minlength=8)
    assert chisquare(counts).pvalue > 1e-3
    assert np.abs(np.corrcoef(symbols.T) - np.eye(3)).max() < 5 / math.sqrt(1000)


def test_the_memoryless_baseline_is_the_papers():
    assert load("copy-memory").baselines["memoryless"] == pytest.approx(1.0606, abs=5e-5)


def test_a_batch_is_time_major_and_asks_to_recall_the_last_three(data):
    batch = data.train.batches(20, 0).at(1)
    assert batch.x.shape == batch.labels.shape == (DELAY + 6, 20)
    assert batch.fresh
    np.testing.assert_array_equal(batch.labels[batch.recall], batch.x[:3])


def test_another_seed_gives_other_sequences_and_the_same_seed_the_same(data):
    again, other = (load({"source": "copy-memory", "delay": DELAY}, seed=seed) for seed in (3, 4))
    np.testing.assert_array_equal(again.train.x, data.train.x)
    assert (other.train.x != data.train.x).any()
    assert (data.test.x != data.train.x).any()


def test_evaluation_sees_every_sequence_once(data):
    windows = list(data.test.windows())
    np.testing.assert_array_equal(np.concatenate([w.x for w in windows], axis=1), data.test.x.T)
    assert all(w.fresh for w in windows)
    assert len(data.test.head(30).x) == 30
