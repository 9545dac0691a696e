"""A weighted loss against a plain loop over predictions and the complex step, and the weights it refuses."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.errors import UsageError
from minisig.losses import MeanSquaredError, SigmoidCrossEntropy, SoftmaxCrossEntropy, Weighted, WeightedTargets

BACKEND = get_backend("numpy", "float64")
LOSSES = [SoftmaxCrossEntropy(), SigmoidCrossEntropy(), MeanSquaredError()]
SHAPES = [(6, 4), (3, 2, 4), (5, 1)]


def problem(loss, shape):
    rng = np.random.default_rng(0)
    z, weights = 3 * rng.standard_normal(shape), rng.uniform(0, 2, shape[:-1])
    classes = isinstance(loss, SoftmaxCrossEntropy)
    targets = rng.integers(0, shape[-1], shape[:-1]) if classes else rng.uniform(0, 1, shape)
    return z, targets, weights


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_is_the_mean_of_each_prediction_s_own_times_its_weight(loss, shape):
    z, targets, weights = problem(loss, shape)
    expected = 0.0
    for at in np.ndindex(weights.shape):
        expected += weights[at] * loss(z[at][None], targets[at][None], BACKEND)[0] / weights.size
    found, dz = Weighted(loss)(z, WeightedTargets(targets, weights), BACKEND)
    assert (found.shape, dz.shape) == ((), z.shape)
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_its_gradient_is_that_of_the_complex_step(loss, shape):
    z, targets, weights = problem(loss, shape)
    weighted, exact = Weighted(loss), NumpyBackend("complex128")
    dz = weighted(z, WeightedTargets(targets, weights), BACKEND)[1]
    for at in np.ndindex(shape):
        moved = z.astype(complex)
        moved[at] += 1e-30j
        step = weighted(moved, WeightedTargets(targets, weights), exact)[0].imag / 1e-30
        assert dz[at] == pytest.approx(step, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_one_change_no_bit(loss):
    z, targets, weights = problem(loss, (6, 4))
    plain, (value, dz) = loss(z, targets, BACKEND), Weighted(loss)(z, WeightedTargets(targets, weights**0), BACKEND)
    assert value == plain[0]
    np.testing.assert_array_equal(dz, plain[1])


@pytest.mark.parametrize("loss", LOSSES)
def test_over_windows_the_score_is_the_weighted_mean(loss):
    z, targets, weights = problem(loss, (6, 4))
    weights /= weights.mean()
    everything, sums = WeightedTargets(targets, weights), {}
    for some in (slice(0, 4), slice(4, 6)):
        for name, value in Weighted(loss).tally(z[some], everything[some], BACKEND).items():
            sums[name] = sums.get(name, 0) + value
    each = [loss(z[i : i + 1], targets[i : i + 1], BACKEND)[0] for i in range(6)]
    assert Weighted(loss).score(sums) == {"loss": pytest.approx(np.average(each, weights=weights), rel=1e-13)}


def test_rows_are_taken_of_targets_and_weights_alike():
    some = WeightedTargets(np.arange(5), np.arange(5) / 10)[np.array([3, 1])]
    assert (some.targets.tolist(), some.weights.tolist()) == ([3, 1], [0.3, 0.1])


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.zeros((3, 2)), "expected targets with weights, WeightedTargets, got ndarray"),
        (WeightedTargets(np.zeros((3, 2)), [1.0, 2.0]), r"expected weights of shape \(3,\), .* got \(2,\)"),
        (WeightedTargets(np.zeros((3, 2)), np.ones((3, 2))), r"expected weights of shape \(3,\), .* got \(3, 2\)"),
        (WeightedTargets(np.zeros(3), np.ones(3)), r"expected targets of shape \(3, 2\)"),
    ],
)
def test_targets_without_a_weight_for_each_are_refused(targets, message):
    with pytest.raises(UsageError, match=message):
        Weighted(MeanSquaredError())(np.zeros((3, 2)), targets, BACKEND)
