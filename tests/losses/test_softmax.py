"""Softmax cross-entropy over all predictions, against a plain loop, and the labels it refuses."""

import math

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.errors import UsageError
from minisig.losses import SoftmaxCrossEntropy

BACKEND = get_backend("numpy", "float64")
LOSS = SoftmaxCrossEntropy()


@pytest.mark.parametrize("shape", [(6, 4), (3, 2, 4), (1, 1, 4), (2, 1)])
def test_the_loss_is_the_mean_over_all_predictions_and_dz_its_gradient(shape):
    rng = np.random.default_rng(0)
    z, labels = 3 * rng.standard_normal(shape), rng.integers(0, shape[-1], shape[:-1])
    loss, dz = LOSS(z, labels, BACKEND)
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
        LOSS(np.zeros((2, 2)), np.array(labels), BACKEND)


@pytest.mark.parametrize("shape", [(2, 3), (7,), (3, 3)])
def test_labels_that_do_not_belong_to_the_predictions_are_refused(shape):
    with pytest.raises(UsageError, match=r"expected labels of shape \(3, 2\), one for each prediction, got"):
        LOSS(np.zeros((3, 2, 5)), np.zeros(shape, dtype=int), BACKEND)


def test_metrics_of_vectors_are_the_loss_and_the_error():
    z, labels = np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0], [1.0, 0.0]]), np.array([0, 1, 1, 0])
    score = LOSS.score(LOSS.tally(z, labels, BACKEND))
    assert list(score) == ["loss", "error"]
    assert score.error == 25.0
    assert score.loss == pytest.approx(float(LOSS(z, labels, BACKEND)[0]), rel=1e-14)


def test_metrics_of_tokens_are_also_perplexity_and_recall():
    z = np.log([[[0.5, 0.5]], [[0.25, 0.75]], [[0.9, 0.1]]])  # (T, B, C) = (3, 1, 2)
    labels = np.array([[0], [1], [1]])
    score = LOSS.score(LOSS.tally(z, labels, BACKEND, recall=slice(-2, None)))
    assert score.perplexity == pytest.approx((0.5 * 0.75 * 0.1) ** (-1 / 3), rel=1e-12)
    assert (score.error, score.recall) == (pytest.approx(100 / 3), 50.0)


def test_what_a_score_lacks_is_told():
    with pytest.raises(AttributeError, match="there is no rmse, but loss, error"):
        LOSS.score({"loss": 1.0, "count": 1, "wrong": 0}).rmse  # noqa: B018


def test_the_perplexity_of_a_hopeless_network_is_a_number():
    assert math.isfinite(LOSS.score({"loss": 1e5, "count": 1, "wrong": 1, "tokens": 1}).perplexity)
