"""Softmax cross-entropy over all predictions, against a plain loop, and the labels it refuses."""

import math

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.errors import UsageError
from minisig.losses import softmax_cross_entropy

BACKEND = get_backend("numpy", "float64")


@pytest.mark.parametrize("shape", [(6, 4), (3, 2, 4), (1, 1, 4), (2, 1)])
def test_the_loss_is_the_mean_over_all_predictions_and_dz_its_gradient(shape):
    rng = np.random.default_rng(0)
    z, labels = 3 * rng.standard_normal(shape), rng.integers(0, shape[-1], shape[:-1])
    loss, dz = softmax_cross_entropy(z, labels, BACKEND)
    expected, gradient = 0.0, np.empty(shape)
    for place in np.ndindex(labels.shape):
        p = [math.exp(z_c) / sum(math.exp(other) for other in z[place]) for z_c in z[place]]
        expected -= math.log(p[labels[place]]) / labels.size
        gradient[place] = [(p_c - (c == labels[place])) / labels.size for c, p_c in enumerate(p)]
    assert loss.shape == ()
    assert loss == pytest.approx(expected, rel=1e-13, abs=1e-15)
    np.testing.assert_allclose(dz, gradient, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        ([0, -1], "int64 from -1 to 0"),
        ([0, 2], "int64 from 0 to 2"),
        ([0.0, 1.0], "float64 from 0.0 to 1.0"),
        ([True, False], "bool"),
        (["a", "b"], "<U1"),
        ([0, None], "object"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, got):
    with pytest.raises(UsageError, match=f"integers from 0 to 1, got {got}$"):
        softmax_cross_entropy(np.zeros((2, 2)), np.array(labels), BACKEND)


@pytest.mark.parametrize("shape", [(2, 3), (7,), (3, 3)])
def test_labels_that_do_not_belong_to_the_predictions_are_refused(shape):
    with pytest.raises(UsageError, match=r"expected labels of shape \(3, 2\), one for each prediction, got"):
        softmax_cross_entropy(np.zeros((3, 2, 5)), np.zeros(shape, dtype=int), BACKEND)
