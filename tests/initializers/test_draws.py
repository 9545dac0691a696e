"""lecun, glorot and ortho: limits, variances and the Haar measure."""

import numpy as np
import pytest

from minisig.initializers import Inputs, initialize
from minisig.initializers.draws import orthogonal, uniform
from minisig.layers import Sigmoid

SIZES = (300, 200, 100)


def draw(init):
    return initialize(init, SIZES, np.random.default_rng(0), Inputs.standard(SIZES[0]), Sigmoid())[0]


def assert_uniform(w, limit):
    """Mean and variance within five standard errors, the support within e^−20 of certainty."""
    N = w.size
    assert abs(w.mean()) < 5 * limit / np.sqrt(3 * N)
    assert abs((w**2).mean() - limit**2 / 3) < 5 * limit**2 * np.sqrt(4 / 45 / N)
    assert limit * (1 - 20 / N) < np.abs(w).max() <= limit


@pytest.mark.parametrize(
    ("init", "limit"),
    [("lecun", lambda n, m: 1 / np.sqrt(n)), ("glorot", lambda n, m: np.sqrt(6) / np.sqrt(n + m))],
)
def test_weights_are_uniform_within_the_published_limit(init, limit):
    for W, _ in draw(init):
        assert_uniform(W, limit(*W.shape))


def test_the_raw_weights_of_random_ep_are_uniform_between_minus_one_and_one():
    assert_uniform(uniform(300, 200, np.random.default_rng(0)), 1.0)


@pytest.mark.parametrize("init", ["lecun", "glorot", "ortho"])
def test_biases_are_zero_and_shapes_follow_the_sizes(init):
    weights = draw(init)
    assert [W.shape for W, _ in weights] == [(300, 200), (200, 100)]
    assert [b.tolist() for _, b in weights] == [[0.0] * 200, [0.0] * 100]


@pytest.mark.parametrize(("n", "m"), [(64, 100), (100, 64), (50, 50), (1, 7), (7, 1)])
def test_orthogonal_draws_are_orthonormal_on_their_shorter_side(n, m):
    W = orthogonal(n, m, np.random.default_rng(0))
    gram = W.T @ W if n >= m else W @ W.T
    assert W.shape == (n, m)
    np.testing.assert_allclose(gram, np.eye(min(n, m)), atol=1e-13)


def test_ortho_takes_its_weights_from_the_orthogonal_draw():
    for W, _ in draw("ortho"):
        np.testing.assert_allclose(W.T @ W, np.eye(W.shape[1]), atol=1e-13)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1)])
def test_entries_of_orthogonal_draws_are_balanced_in_sign(shape):
    rng, N = np.random.default_rng(0), 4000
    Q = np.array([orthogonal(*shape, rng) for _ in range(N)])
    # An entry has variance 1/max(n, m); bare QR has a Q[0, 0] of one sign.
    assert np.abs(Q.mean(axis=0)).max() < 5 / np.sqrt(max(shape) * N)


def test_the_trace_and_determinant_of_orthogonal_draws_are_haars():
    rng, N = np.random.default_rng(1), 4000
    Q = np.array([orthogonal(4, 4, rng) for _ in range(N)])
    trace = np.trace(Q, axis1=1, axis2=2)
    # On O(4) the first four moments of the trace are a standard normal's: 0, 1, 0, 3.
    assert abs(trace.mean()) < 5 / np.sqrt(N)
    assert abs((trace**2).mean() - 1) < 5 * np.sqrt(2 / N)
    assert abs(np.linalg.det(Q).mean()) < 5 / np.sqrt(N)
