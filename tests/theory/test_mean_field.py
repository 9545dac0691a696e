"""A deep stack of neurons: the table's numbers, and the gain against real wide random layers."""

import numpy as np
import pytest
from scipy.special import expit

from minisig.theory import (
    critical_width,
    depth_scale,
    derivative,
    exact_best_sigma,
    gain,
    mean_field,
    output_mean,
    row_norm,
)

EP = np.sqrt(np.pi / 2)
NEURONS = [(0.0, 0.3), (0.0, EP), (0.0, 1.7488), (1.5, 2.0), (-2.0, 0.7)]


@pytest.fixture(scope="module")
def layer():
    """2,000 → 2,000 neurons with columns of length 1."""
    W = np.random.default_rng(0).standard_normal((2000, 2000))
    return W / np.linalg.norm(W, axis=0)


def within_five_standard_errors(values, expected):
    return abs(values.mean() - expected) < 5 * values.std() / np.sqrt(values.size)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (row_norm(0, EP), 5.1615702534),
        (gain(0, EP), 1.0611600540),
        (gain(0, exact_best_sigma()), 1.1338454673),
        (critical_width(0, EP), 32 * 0.0589598258 / np.pi),
    ],
)
def test_mean_field_has_its_reference_values(value, printed):
    assert value == pytest.approx(printed, rel=0, abs=1e-8)


def test_the_critical_width_is_below_one_neuron_and_never_above_eight_over_pi():
    assert critical_width(0, EP) == pytest.approx(0.6006, abs=5e-5)  # four digits are printed
    assert (critical_width(np.linspace(-9, 9, 37), EP) <= 8 / np.pi).all()


@pytest.mark.parametrize(("mu", "sigma"), NEURONS)
def test_rows_of_this_norm_keep_the_logits_variance_in_a_wide_random_layer(layer, mu, sigma):
    y = expit(np.random.default_rng(1).normal(mu, sigma, (20, len(layer))))
    z = (y - output_mean(mu, sigma)) @ layer * row_norm(mu, sigma)
    assert within_five_standard_errors(z**2, sigma**2)


@pytest.mark.parametrize(("mu", "sigma"), NEURONS)
def test_the_gain_is_the_growth_of_a_squared_gradient_through_a_wide_random_layer(layer, mu, sigma):
    rng = np.random.default_rng(2)
    z, dz_next = rng.normal(mu, sigma, (20, len(layer))), rng.standard_normal((20, len(layer)))
    dz = dz_next @ layer.T * row_norm(mu, sigma) * derivative(z)
    growth = dz**2 / (dz_next**2).mean(axis=1, keepdims=True)
    assert within_five_standard_errors(growth, gain(mu, sigma))


def test_rows_that_keep_the_variance_never_let_gradients_vanish():
    # Poincaré's inequality for the Gaussian, Var g(z) ≤ σ² E g′(z)², is χ ≥ 1.
    assert (gain(np.linspace(-6, 6, 25)[:, None], np.logspace(-2, 1, 31)) > 1 - 1e-12).all()


@pytest.mark.parametrize(("mu", "sigma"), NEURONS)
def test_over_the_depth_scale_a_squared_gradient_changes_by_e(mu, sigma):
    assert abs(np.log(gain(mu, sigma) ** depth_scale(mu, sigma))) == pytest.approx(1, rel=1e-10)


def test_the_depth_scale_is_infinite_at_the_edge_of_chaos(monkeypatch):
    monkeypatch.setattr(mean_field, "gain", lambda mu, sigma: np.array([1.0, np.e, 1 / np.e]))
    np.testing.assert_array_equal(depth_scale(0, 1), [np.inf, 1.0, 1.0])
