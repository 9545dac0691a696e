"""Every layer alone: forward and backward against a naive second implementation, and purity."""

import math

import numpy as np
import pytest

from minisig.activations import ScaledTanh, Sigmoid
from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.layers import Dense, Dropout

BACKEND = get_backend("numpy", "float64")
STEP = 1e-30
MASK_SEED = 7


def make(name):
    rng = np.random.default_rng(3)
    return {
        "dense": lambda: Dense(rng.standard_normal((4, 5)), rng.standard_normal(5)),
        "sigmoid": Sigmoid,
        "scaled_tanh": ScaledTanh,
        "dropout": lambda: Dropout(0.4),
    }[name]()


LAYERS = ["dense", "sigmoid", "scaled_tanh", "dropout"]


def forward(layer, x, backend=BACKEND):
    draws = (np.random.default_rng(MASK_SEED),) if isinstance(layer, Dropout) else ()
    return layer.forward(x, backend, *draws)


def naive_forward(layer, x):
    if isinstance(layer, Dense):
        W, b = layer.params["W"], layer.params["b"]
        return [[sum(x[i, k] * W[k, j] for k in range(4)) + b[j] for j in range(5)] for i in range(6)]
    if isinstance(layer, Dropout):
        kept = np.random.default_rng(MASK_SEED).random((6, 4), dtype="float32") >= 0.4
        return [[x[i, j] / 0.6 if kept[i, j] else 0.0 for j in range(4)] for i in range(6)]
    function = {
        Sigmoid: lambda z: 1 / (1 + math.exp(-z)),
        ScaledTanh: lambda z: 1.7159 * math.tanh(2 / 3 * z),
    }[type(layer)]
    return [[function(z) for z in row] for row in x]


@pytest.mark.parametrize("name", LAYERS)
def test_forward_equals_a_plain_loop(name, x):
    layer = make(name)
    np.testing.assert_allclose(forward(layer, x)[0], naive_forward(layer, x), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", LAYERS)
def test_backward_equals_complex_step_differentiation(name, x):
    layer = make(name)
    y, cache = forward(layer, x)
    weights = np.random.default_rng(1).standard_normal(y.shape)  # L = Σ weights · y
    dx, gradients = layer.backward(weights, cache, BACKEND)
    arrays = {"x": x.astype(complex)} | {key: w.astype(complex) for key, w in layer.params.items()}
    backward = {"x": dx} | {key: g.dense(BACKEND) for key, g in gradients.items()}
    assert arrays.keys() == backward.keys()
    layer.params = {key: arrays[key] for key in layer.params}
    for key, a in arrays.items():
        numeric = np.zeros(a.shape)
        for index in np.ndindex(a.shape):
            a[index] += 1j * STEP
            numeric[index] = (weights * forward(layer, arrays["x"], NumpyBackend("complex128"))[0]).sum().imag / STEP
            a[index] -= 1j * STEP
        np.testing.assert_allclose(backward[key], numeric, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_remembers_nothing_between_calls(name, x):
    layer, x_before = make(name), x.copy()
    y, cache = forward(layer, x)
    y_before = y.copy()
    dx, _ = layer.backward(y, cache, BACKEND)
    dx_before = dx.copy()
    forward(layer, -3 * x)
    again, _ = layer.backward(y, cache, BACKEND)
    np.testing.assert_array_equal(again, dx_before)
    np.testing.assert_array_equal(x, x_before)
    np.testing.assert_array_equal(y, y_before)
