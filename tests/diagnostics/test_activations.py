"""Activation statistics against naive second implementations, and the entropy against the theory's."""

import numpy as np
import pytest
from scipy.special import expit

from minisig import activation_statistics, mlp, recurrent
from minisig.theory import derivative, entropy, surrogate


@pytest.mark.parametrize("activation", ["sigmoid", "scaled-tanh"])
def test_statistics_are_those_of_the_arrays(batch, activation):
    net = mlp([64, 30, 20, 10], rng=0, x=batch[0], activation=activation, dtype="float64")
    trace = net.trace(*batch)
    first, second = activation_statistics(trace)
    assert (first.name, second.name) == ("dense0", "dense1")
    z, y = trace.outputs["dense1"], list(trace.outputs.values())[3]
    assert second.logit_mean == pytest.approx(z.mean())
    assert second.logit_std == pytest.approx(z.std())
    assert second.neuron_std == pytest.approx(np.sqrt(z.var(axis=0).mean()))
    assert second.mean == pytest.approx(y.mean())
    assert second.std == pytest.approx(y.std())
    low, high = (0.0, 1.0) if activation == "sigmoid" else (-1.7159, 1.7159)
    edge = 0.05 * (high - low)
    assert second.saturated == pytest.approx(((y < low + edge) | (y > high - edge)).mean())


def test_the_entropy_of_a_handful_of_logits_is_left_open():
    x = np.random.default_rng(0).standard_normal((5, 3))
    for examples, known in ((4, False), (5, True)):
        (row,) = activation_statistics(mlp([3, 1, 2]).trace(x[:examples], [0] * examples))
        assert np.isfinite(row.entropy) == known


def test_the_empirical_entropy_of_gaussian_logits_is_the_theorys():
    """20,000 logits: Vasicek's estimate has a standard deviation of about 1/√(2n) and a bias below 0.02 there."""
    net = mlp([200, 100, 3], rng=0, dtype="float64")
    x = np.random.default_rng(1).standard_normal((200, 200))
    (row,) = activation_statistics(net.trace(x, np.zeros(200, dtype=int)))
    assert row.entropy == pytest.approx(row.theory_entropy, abs=0.03)
    assert row.theory_entropy == pytest.approx(entropy(row.logit_mean, row.logit_std))
    assert row.theory_entropy == pytest.approx(-0.0807, abs=0.02)


@pytest.mark.parametrize("activation", ["sigmoid", "scaled-tanh"])
def test_of_very_many_logits_some_tell_the_entropy(activation):
    """250×100 logits, of which 20,000 are drawn: standard deviation and bias as above."""
    net = mlp([200, 100, 3], rng=0, activation=activation, dtype="float64")
    x = np.random.default_rng(1).standard_normal((250, 200))
    (row,) = activation_statistics(net.trace(x, np.zeros(250, dtype=int)))
    assert row.entropy == pytest.approx(row.theory_entropy, abs=0.03)


def test_the_entropy_is_the_activities_own_not_the_gaussians():
    """Logits uniform in (−1, 1): H(y) = ln 2 + E ln g′(z)."""
    net = mlp([1, 1, 2], rng=0, dtype="float64")
    net.params["dense0.W"][...], net.params["dense0.b"][...] = 1.0, 0.0
    x = np.linspace(-1, 1, 5001)[:, None]
    (row,) = activation_statistics(net.trace(x, np.zeros(5001, dtype=int)))
    assert row.entropy == pytest.approx(np.log(2) + np.log(derivative(x)).mean(), abs=0.01)
    assert abs(row.theory_entropy - row.entropy) > 0.05


def test_a_saturated_layer_is_seen_as_one():
    net = mlp([2, 50, 2], rng=0, dtype="float64")
    net.params["dense0.b"][...] = 40.0
    x = np.random.default_rng(0).standard_normal((30, 2))
    (row,) = activation_statistics(net.trace(x, np.zeros(30, dtype=int)))
    assert row.saturated == 1.0
    assert row.mean == pytest.approx(1.0)
    assert row.entropy < -30  # E ln g′ is about −40: no histogram of y would show it


def test_a_silent_layer_carries_no_information():
    net = mlp([2, 5, 2], dtype="float64")
    net.params["dense0.W"][...] = 0
    (row,) = activation_statistics(net.trace(np.ones((9, 2)), np.zeros(9, dtype=int)))
    assert row.entropy == row.theory_entropy == -np.inf


def test_a_recurrent_layer_is_measured_over_all_its_steps():
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 6, (20, 4))
    net = recurrent(6, [30], dtype="float64")
    trace = net.trace(tokens, tokens)
    (row,) = activation_statistics(trace)
    z = trace.caches["rnn0"].z
    assert row.logit_std == pytest.approx(z.std())
    assert row.mean == pytest.approx(expit(z).mean())
    assert row.neuron_std == pytest.approx(np.sqrt(z.reshape(-1, 30).var(axis=0).mean()))


def test_of_exploded_logits_the_entropy_is_still_told():
    net = mlp([2, 5, 2], dtype="float64")
    net.params["dense0.W"] *= 1e9
    x = np.random.default_rng(0).standard_normal((50, 2))
    (row,) = activation_statistics(net.trace(x, np.zeros(50, dtype=int)))
    assert row.logit_std > 1e5
    assert row.theory_entropy == pytest.approx(surrogate(row.logit_mean, row.logit_std))
