"""Sigmoid cross-entropy against a plain loop, far out and in between, and the targets it refuses."""

import math

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.diagnostics.gradient_check import check_gradients
from minisig.errors import UsageError
from minisig.losses import SigmoidCrossEntropy
from minisig.network import mlp

BACKEND = get_backend("numpy", "float64")
LOSS = SigmoidCrossEntropy()


@pytest.mark.parametrize("shape", [(6, 4), (3, 2, 4), (5, 1)])
def test_the_loss_is_the_sum_over_outputs_and_the_mean_over_predictions(shape):
    rng = np.random.default_rng(0)
    z, t = 3 * rng.standard_normal(shape), rng.uniform(0, 1, shape)
    loss, dz = LOSS(z, t, BACKEND)
    N = z.size // shape[-1]
    expected, gradient = 0.0, np.empty(shape)
    for place in np.ndindex(shape):
        y = 1 / (1 + math.exp(-z[place]))
        expected -= (t[place] * math.log(y) + (1 - t[place]) * math.log(1 - y)) / N
        gradient[place] = (y - t[place]) / N
    assert loss == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(dz, gradient, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("z", "t", "loss"), [(800.0, 1.0, 0.0), (-800.0, 0.0, 0.0), (800.0, 0.0, 800.0)])
def test_nothing_overflows(z, t, loss):
    value, dz = LOSS(np.array([[z]]), [[t]], BACKEND)
    assert (value, dz[0, 0]) == (loss, round(loss / 800))


def test_a_single_output_takes_targets_without_an_axis():
    z = np.array([[2.0], [-1.0]])
    flat, full = (LOSS(z, t, BACKEND) for t in ([1, 0], [[1], [0]]))
    assert flat[0] == full[0]
    np.testing.assert_array_equal(flat[1], full[1])


def test_the_gradient_of_a_network_of_yes_and_no_is_that_of_the_complex_step():
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((7, 4)), rng.integers(0, 2, (7, 3))
    assert check_gradients(mlp([4, 5, 3], loss="sigmoid-cross-entropy"), x, t).error < 1e-10


def test_the_error_counts_answers():
    z, t = np.array([[2.0, -3.0], [0.5, 1.0]]), np.array([[1, 1], [1, 0]])
    assert LOSS.score(LOSS.tally(z, t, BACKEND)).error == 50.0


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([[0, 2.0]], "expected targets from 0 to 1, got 0.0 to 2.0"),
        ([[-0.5, 1]], "got -0.5 to 1.0"),
        ([[0, float("nan")]], "expected targets from 0 to 1, got"),
        ([0, 1, 1], r"expected targets of shape \(1, 2\), one for each output, got \(3,\)"),
        ([["yes", "no"]], "expected targets that are numbers"),
    ],
)
def test_targets_that_are_no_answers_are_refused(targets, message):
    with pytest.raises(UsageError, match=message):
        LOSS(np.zeros((1, 2)), targets, BACKEND)
