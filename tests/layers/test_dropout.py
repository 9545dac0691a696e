"""Dropout: how much it silences, when it does not, and what it leaves alone."""

import math

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.errors import UsageError
from minisig.layers import Dropout
from minisig.network import recurrent
from tests.layers.sizes import V

BACKEND = get_backend("numpy", "float64")


def test_dropout_keeps_the_mean_and_silences_the_right_share():
    n, p = 100_000, 0.3
    y, _ = Dropout(p).forward(np.ones((n, 1)), BACKEND, np.random.default_rng(0))
    deviation = math.sqrt(p * (1 - p) / n)
    assert abs((y == 0).mean() - p) < 5 * deviation
    assert abs(y.mean() - 1) < 5 * deviation / (1 - p)


def test_dropout_is_off_when_evaluating_and_where_nothing_is_dropped(x):
    for p, rng in ((0.5, None), (0.0, np.random.default_rng(0))):
        y, m = Dropout(p).forward(x, BACKEND, rng)
        assert m is None
        assert y is x


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, float("nan")])
def test_dropout_refuses_what_is_not_a_probability(p):
    with pytest.raises(UsageError, match="0 ≤ p < 1"):
        Dropout(p)


def test_dropout_leaves_the_recurrent_connections_alone(text):
    tokens, labels = text
    net = recurrent(V, [50], dropout=0.5)
    assert list(net.layers) == ["embedding", "dropout0", "rnn0", "dropout1", "dense"]
    trace = net.trace(tokens, labels, np.random.default_rng(0))
    assert (trace.outputs["dropout1"] == 0).mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(9 * 4 * 50))
    assert (trace.caches["rnn0"].h > 0).all()  # what the layer hands to its own next step was never silenced
