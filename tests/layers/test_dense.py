"""The dense layer's own: gradients of the parameters alone."""

import numpy as np

from minisig.backends import get_backend
from minisig.layers import Dense

BACKEND = get_backend("numpy", "float64")


def test_the_first_layers_gradients_need_no_input_gradient(x):
    rng = np.random.default_rng(3)
    layer = Dense(rng.standard_normal((4, 5)), rng.standard_normal(5))
    dz, cache = layer.forward(x, BACKEND)
    gradients = layer.gradients(dz, cache, BACKEND)
    assert gradients.keys() == layer.params.keys()
    dW = sum(np.outer(row, delta) for row, delta in zip(x, dz, strict=True))
    np.testing.assert_allclose(gradients["W"].dense(BACKEND), dW, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(gradients["b"].dense(BACKEND), sum(dz), rtol=1e-12, atol=1e-13)
