"""Every activation: its value, derivative and steepest slope against second forms, and its backward."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import expit

from minisig import check_gradients, mlp
from minisig.activations import (
    ACTIVATIONS,
    Activation,
    LogisticActivation,
    ReLU,
    Sigmoid,
    get_activation,
    scaled_tanh,
)
from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.errors import UsageError
from minisig.network import Network

NAMES = ["sigmoid", "scaled-tanh", "tanh", "relu", "softplus", "erf"]
BACKEND = get_backend("numpy", "float64")
Z = np.concatenate([np.linspace(-6, 6, 240), [-700.0, -80.0, -26.1, -1e-9, 1e-9, 0.3, 5.7, 26.1, 80.0, 700.0]])  # no 0
A, B = Decimal(scaled_tanh.A), Decimal(scaled_tanh.B)  # as float64 has them
PI = Decimal("3.14159265358979323846264338327950288419716939937510")


def logistic_derivative(u):
    e = (-abs(u)).exp()
    return e / (1 + e) ** 2


VALUES = {
    "sigmoid": lambda z: 1 / (1 + math.exp(-z)) if z > -700 else 0.0,
    "scaled-tanh": lambda z: 1.7159 * math.tanh(2 / 3 * z),
    "tanh": math.tanh,
    "relu": lambda z: max(0.0, z),
    "softplus": lambda z: math.log1p(math.exp(z)) if z < 40 else z,
    "erf": math.erf,
}
DERIVATIVES = {
    "sigmoid": logistic_derivative,
    "scaled-tanh": lambda z: 4 * A * B * logistic_derivative(2 * B * z),
    "tanh": lambda z: 4 * logistic_derivative(2 * z),
    "relu": lambda z: Decimal(z > 0),
    "softplus": lambda z: 1 / (1 + (-z).exp()),
    "erf": lambda z: 2 / PI.sqrt() * (-z * z).exp(),
}


def test_every_one_of_ours_is_tested_here():
    assert [*ACTIVATIONS.rows] == NAMES
    assert [ACTIVATIONS[name]().name for name in NAMES] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_that_of_pythons_own_mathematics(name):
    f = ACTIVATIONS[name]()
    expected = [VALUES[name](z) for z in Z]
    np.testing.assert_allclose(f.value(Z), expected, rtol=1e-15, atol=5e-16)
    np.testing.assert_allclose(f.forward(Z, BACKEND)[0], expected, rtol=1e-15, atol=5e-16)


@pytest.mark.parametrize("name", NAMES)
def test_the_derivative_is_right_to_the_last_digits_however_small(name):
    with localcontext() as context:
        context.prec = 50
        exact = [DERIVATIVES[name](Decimal(z)) for z in Z]
    exact = np.array([float(d) for d in exact])
    found, normal = ACTIVATIONS[name]().derivative(Z), exact > np.finfo(float).tiny
    # e^−u has the rounding of u, half a unit in its last place, times u.
    error = np.abs(found[normal] / exact[normal] - 1)
    np.testing.assert_array_less(error, 2e-15 + 2.3e-16 * np.abs(Z[normal]))
    np.testing.assert_allclose(found[~normal], exact[~normal], atol=1e-307)


@pytest.mark.parametrize("name", NAMES)
def test_the_steepest_slope_is_nowhere_exceeded_and_attained(name):
    f = ACTIVATIONS[name]()
    slopes = np.abs(f.derivative(np.linspace(-60, 60, 120_001)))
    assert slopes.max() == pytest.approx(f.steepest, rel=1e-15)
    assert slopes.max() <= f.steepest * (1 + 1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_a_logistic_is_what_its_three_numbers_say(name):
    f = ACTIVATIONS[name]()
    assert isinstance(f, LogisticActivation) == (f.logistic is not None) == (name in NAMES[:3])
    if f.logistic:
        slope, scale, centre = f.logistic.slope, f.logistic.scale, f.logistic.centre
        expected = centre + scale * (expit(slope * Z) - 0.5)
        for y in (f.value(Z), f.forward(Z, BACKEND)[0]):
            np.testing.assert_allclose(y, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_shape_and_dtype_are_kept(name, dtype):
    f, z = ACTIVATIONS[name](), np.linspace(-2, 2, 24).reshape(2, 3, 4).astype(dtype)
    y, cache = f.forward(z, NumpyBackend(dtype))
    arrays = [f.value(z), y]
    if dtype != "complex128":
        arrays += [f.derivative(z), f.backward(y, cache, NumpyBackend(dtype))[0]]
    assert {(a.shape, a.dtype.name) for a in arrays} == {(z.shape, dtype)}


@pytest.mark.parametrize("name", NAMES)
def test_backward_equals_complex_step_differentiation(name):
    f, z, dy = ACTIVATIONS[name](), Z[np.abs(Z) < 20], np.random.default_rng(0).standard_normal((np.abs(Z) < 20).sum())
    dz, gradients = f.backward(dy, f.forward(z, BACKEND)[1], BACKEND)
    for step in (f.forward(z + 1e-30j, NumpyBackend("complex128"))[0], f.value(z + 1e-30j)):
        np.testing.assert_allclose(dz, dy * step.imag / 1e-30, rtol=1e-12, atol=1e-15)
    assert gradients == {}


@pytest.mark.parametrize("name", NAMES)
def test_backward_of_whole_networks_is_exact(name):
    rng = np.random.default_rng(0)
    net = mlp([7, 6, 5, 5, 4], init="glorot", activation=name, rng=1)
    kind = name.replace("-", "_")
    assert [*net.layers] == ["dense0", f"{kind}0", "dense1", f"{kind}1", "dense2", f"{kind}2", "dense3"]
    assert check_gradients(net, rng.uniform(-1, 1, (6, 7)), rng.integers(0, 4, 6)).error < 1e-10


@pytest.mark.parametrize("name", NAMES)
def test_a_backward_that_is_a_little_wrong_is_caught(name):
    class Wrong(type(ACTIVATIONS[name]())):
        def backward(self, dy, cache, backend):
            dz, gradients = super().backward(dy, cache, backend)
            return dz * (1 + 1e-6), gradients

    rng = np.random.default_rng(0)
    net = mlp([7, 6, 5, 4], init="glorot", activation=name, rng=1, dtype="float64")
    layers = {**net.layers, [*net.layers][3]: Wrong()}
    check = check_gradients(Network(layers, net.backend), rng.uniform(-1, 1, (6, 7)), rng.integers(0, 4, 6))
    wrong = {array for array, mismatch in check.by_array.items() if mismatch.error > 1e-7}
    assert wrong >= {"dense0.W", "dense1.W"}
    assert check.by_array["dense2.W"].error < 1e-10


@pytest.mark.parametrize("name", NAMES)
def test_nothing_overflows_and_what_is_no_number_stays_so(name):
    f = ACTIVATIONS[name]()
    for dtype, huge in (("float32", 1e38), ("float64", 1e300)):
        z = np.array([-huge, huge, -np.inf, np.inf, np.nan], dtype)
        y, slopes = f.value(z), f.derivative(z[:4])
        assert not np.isnan(y[:4]).any()
        assert np.isnan(y[4])
        assert np.isfinite(slopes).all()


def test_every_instance_has_parameters_of_its_own():
    assert Sigmoid().params == {}
    assert Sigmoid().params is not Sigmoid().params


def test_an_activation_is_asked_for_by_name_or_given():
    relu = ReLU()
    assert get_activation(relu) is relu
    assert type(get_activation("relu")) is ReLU
    with pytest.raises(UsageError, match=r"unknown activation 'rellu'\. Did you mean 'relu'"):
        get_activation("rellu")
    with pytest.raises(UsageError, match=r"expected an Activation, such as ReLU\(\), got the class ReLU"):
        mlp([3, 4, 2], activation=ReLU)
    with pytest.raises(UsageError, match=r"expected an Activation, such as ReLU\(\), got float"):
        mlp([3, 4, 2], activation=0.5)


def test_a_row_that_makes_no_activation_is_named(monkeypatch):
    monkeypatch.setitem(ACTIVATIONS.rows, "odd", lambda: np.tanh)
    with pytest.raises(UsageError, match=r"activation 'odd': expected an Activation, .*, got ufunc"):
        mlp([3, 4, 2], activation="odd")


def test_one_that_does_not_say_how_steep_it_gets_cannot_be_made():
    class Half(Activation):
        def value(self, z, xp=np):
            return z / 2

        def derivative(self, z, xp=np):
            return xp.full_like(z, 0.5)

    with pytest.raises(TypeError, match="steepest"):
        Half()
