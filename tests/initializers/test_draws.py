"""lecun, glorot and ortho: limits, variances and the Haar measure."""

import numpy as np
import pytest

from minisig.errors import UsageError
from minisig.initializers import INITIALIZERS, Inputs, initialize
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


@pytest.mark.parametrize("init", INITIALIZERS)
def test_changing_the_last_layer_leaves_the_others_as_they_are(init, digits):
    inputs = Inputs.measured(digits.train.x)

    def weights(last):
        return initialize(init, (64, 30, 20, last), np.random.default_rng(7), inputs, Sigmoid())[0]

    ten, three = weights(10), weights(3)
    for (W, b), (V, a) in zip(ten[:2], three[:2], strict=True):
        np.testing.assert_array_equal(W, V)
        np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep", "ortho", "glorot", "lecun"])
def test_changing_the_inputs_leaves_the_later_layers_as_they_are(init):
    wide, narrow = (
        initialize(init, (n, 30, 20, 10), np.random.default_rng(7), Inputs.standard(n), Sigmoid())[0] for n in (64, 40)
    )
    for (W, _), (V, _) in zip(wide[1:], narrow[1:], strict=True):
        np.testing.assert_array_equal(W, V)


@pytest.mark.parametrize("init", INITIALIZERS)
def test_a_seed_is_reproducible_and_layers_and_seeds_differ(init, digits):
    inputs = Inputs.measured(digits.train.x)

    def weights(seed):
        return [W for W, _ in initialize(init, (64, 64, 64), np.random.default_rng(seed), inputs, Sigmoid())[0]]

    first, second = weights(0)
    np.testing.assert_array_equal(weights(0), [first, second])
    # Independent draws have a correlation of 0 ± 1/64.
    for other in (second, weights(1)[0]):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 5 / 64


@pytest.mark.parametrize(
    ("init", "sizes", "message"),
    [
        ("lecunn", (64, 10), "Did you mean 'lecun'"),
        ("lecun", (64,), "at least an input and an output size"),
        ("lecun", (64, 0, 10), r"positive whole numbers.*got \(64, 0, 10\)"),
        ("lecun", (65, 10), "takes 65 inputs, the data have 64"),
    ],
)
def test_what_cannot_be_initialized_is_refused(init, sizes, message):
    with pytest.raises(UsageError, match=message):
        initialize(init, sizes, np.random.default_rng(0), Inputs.standard(64), Sigmoid())
