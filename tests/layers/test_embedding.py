"""The embedding against plain indexing."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.layers import Embedding
from tests.layers.sizes import N, V

BACKEND = get_backend("numpy", "float64")


def test_an_embedding_looks_rows_up_and_its_gradient_counts_every_use():
    E = np.random.default_rng(0).standard_normal((V, N))
    tokens, dx = np.array([[1, 4], [1, 1], [5, 4]]), np.random.default_rng(1).standard_normal((3, 2, N))
    layer = Embedding(E)
    x, cache = layer.forward(tokens, BACKEND)
    np.testing.assert_array_equal(x[2, 1], E[4])
    nothing, gradients = layer.backward(dx, cache, BACKEND)
    assert nothing is None
    expected = np.zeros_like(E)
    for place in np.ndindex(tokens.shape):
        expected[tokens[place]] += dx[place]
    gradient = gradients["E"]
    assert gradient.values.shape == (6, N)  # rows and values, no V×n matrix
    np.testing.assert_allclose(gradient.dense(BACKEND), expected, atol=1e-14)
    assert gradient.norm(BACKEND) == pytest.approx(np.linalg.norm(expected), rel=1e-12)
    into = np.ones_like(E)
    gradient.accumulate(into, alpha=-0.5, beta=0.9, backend=BACKEND)
    np.testing.assert_allclose(into, 0.9 - 0.5 * expected, atol=1e-14)
