"""Whole networks on the device: the same traces and diagnostics as on NumPy."""

from dataclasses import asdict, replace

import cupy
import numpy as np
import pytest

from minisig.activations import ACTIVATIONS
from minisig.backends import get_backend
from minisig.data import load
from minisig.diagnostics.activations import activation_statistics
from minisig.diagnostics.bounds import vanishing_bounds
from minisig.diagnostics.finite import first_not_finite
from minisig.diagnostics.gradient_check import check_gradients
from minisig.diagnostics.inspection import inspect_network
from minisig.diagnostics.memory import remembered
from minisig.experiments import configure
from minisig.models import build_network
from minisig.network import mlp, recurrent
from tests.layers.gated import gru_network

from .runs import TOLERANCE, agree

pytestmark = pytest.mark.gpu

# --------------------------------------------------------------------------------------------------------- one trace


def vectors(**options):
    rng = np.random.default_rng(0)
    net = mlp([20, 15, 12, 5], rng=1, dtype="float64", **options)
    return net, rng.uniform(-1, 1, (9, 20)), rng.integers(0, 5, 9)


def sequences(model, **options):
    rng = np.random.default_rng(0)
    tokens, labels = rng.integers(0, 8, (2, 6, 4))
    if model == "gru":
        return gru_network(8, [7, 5]), tokens, labels
    return recurrent(8, [7, 5], model=model, rng=1, tokens=tokens, dtype="float64", **options), tokens, labels


NETWORKS = {
    "mlp": lambda: vectors(),
    "mlp of scaled tanhs": lambda: vectors(activation="scaled-tanh", init="lecun"),
    "mlp of tanhs": lambda: vectors(activation="tanh"),
    "mlp of relus": lambda: vectors(activation="relu", init="lecun"),
    "mlp of softplus": lambda: vectors(activation="softplus", init="lecun"),
    "mlp of erfs": lambda: vectors(activation="erf", init="lecun"),
    "mlp with dropout": lambda: vectors(dropout=0.4),
    "rnn": lambda: sequences("rnn"),
    "rnn with dropout": lambda: sequences("rnn", dropout=0.4),
    "lstm": lambda: sequences("lstm", init="glorot"),
    "gru": lambda: sequences("gru"),
}


@pytest.fixture(params=NETWORKS)
def network(request):
    return NETWORKS[request.param]()


def traces(network, dtype, **options):
    """Of one network on both backends."""
    net, x, labels = network
    for name in ("cupy", "numpy"):
        twin = net.on(get_backend(name, dtype))
        yield twin.trace(x, labels, np.random.default_rng(2), **options)


def test_a_trace_is_the_same(network, dtype):
    found, expected = traces(network, dtype, input_gradient=True)
    assert isinstance(found.loss, cupy.ndarray)
    assert found.loss.dtype == expected.loss.dtype == dtype
    agree(found.loss, expected.loss, dtype, "loss")
    agree(found.outputs, expected.outputs, dtype, "output of")
    agree(found.deltas, expected.deltas, dtype, "delta of")
    agree(found.dx, expected.dx, dtype, "dx")
    agree(found.states, expected.states, dtype, "state of")
    agree(found.gradient_norms(), expected.gradient_norms(), dtype, "norm of")
    for name, g in found.gradients.items():
        dense = g.dense(found.backend)
        assert dense.dtype == dtype
        agree(dense, expected.gradients[name].dense(expected.backend), dtype, name)


def test_what_a_trace_tells_is_the_same(network, dtype):
    found, expected = traces(network, dtype)
    agree(found.logits(), expected.logits(), dtype)
    agree(found.logit_gradients(), expected.logit_gradients(), dtype)
    agree(found.activation_gradients(), expected.activation_gradients(), dtype)
    agree(found.sample_norms(), expected.sample_norms(), dtype)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_and_its_derivative_are_the_same(name, dtype):
    f, z = ACTIVATIONS[name](), np.linspace(-9, 9, 101).astype(dtype)
    for function in (f.value, f.derivative):
        found = function(cupy.asarray(z), cupy)
        assert (type(found), found.dtype) == (cupy.ndarray, dtype)
        agree(found, function(z), dtype)


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
def test_carried_states_are_the_same(model, dtype):
    net, x, labels = NETWORKS[model]()
    outcomes = []
    for name in ("cupy", "numpy"):
        twin = net.on(get_backend(name, dtype))
        states = twin.trace(x, labels).states
        outcomes.append((twin.trace(x, labels, states=states).loss, *twin.advance(x, states)))
    agree(*outcomes, dtype)


def test_gradients_of_a_network_on_the_device_pass_the_gradient_check(network):
    net, x, labels = network
    twin = net.on(get_backend("cupy", "float64"))
    assert check_gradients(twin, x, labels, dropout_seed=0, entries=5).error < 1e-10


def test_labels_may_be_of_any_integer_type():
    net, x, labels = vectors()
    twin = net.on(get_backend("cupy", "float64"))
    losses = [float(twin.trace(x, labels.astype(kind)).loss) for kind in ("int64", "int32", "uint8")]
    assert losses[0] == losses[1] == losses[2] == pytest.approx(float(net.trace(x, labels).loss), rel=1e-12)


def test_parameters_come_and_go():
    net, x, _ = vectors()
    twin = net.on(get_backend("cupy", "float64"))
    twin.load({name: cupy.asnumpy(2 * w) for name, w in twin.params.items()})
    back = twin.on(net.backend)
    for name, w in net.params.items():
        np.testing.assert_array_equal(back.params[name], 2 * w)
    assert isinstance(twin.forward(x), cupy.ndarray)
    assert twin.account == net.account


# -------------------------------------------------------------------------------------------------------- diagnostics


@pytest.mark.parametrize("name", ["mlp", "mlp of scaled tanhs", "mlp of softplus", "mlp of erfs", "rnn"])
def test_diagnostics_are_the_same(name, dtype):
    found, expected = traces(NETWORKS[name](), dtype)
    rows = [[asdict(row) for row in activation_statistics(trace)] for trace in (found, expected)]
    assert rows[1]
    agree(*rows, dtype, tolerance=max(1e-9, TOLERANCE[dtype]))
    bounds = [vanishing_bounds(trace) for trace in (found, expected)]
    agree(*(b.as_dicts() for b in bounds), dtype, tolerance=max(1e-9, TOLERANCE[dtype]))
    assert bounds[0].verdict == bounds[1].verdict


@pytest.mark.parametrize("name", ["mlp", "rnn", "lstm", "gru"])
def test_inspections_are_the_same(name, dtype):
    net, x, labels = NETWORKS[name]()
    shown = [inspect_network(net.on(get_backend(b, dtype)), x, labels).as_json() for b in ("cupy", "numpy")]
    agree(*shown, dtype, tolerance=max(1e-9, TOLERANCE[dtype]))


@pytest.mark.parametrize("model", ["rnn", "lstm"])
def test_what_is_remembered_is_the_same(model):
    config = configure("copy-memory", {"data.delay": 5, "network.model": model, "network.hidden": [8]})
    data = load(config.data)
    data = replace(data, **{part: getattr(data, part).head(150) for part in ("train", "valid", "test")})
    net = build_network(config, data).on(get_backend("numpy", "float64"))
    found, expected = (remembered(net.on(get_backend(name, "float64")), data) for name in ("cupy", "numpy"))
    assert found.recall == pytest.approx(expected.recall, abs=1.0)
    assert (found.sensitivity is None) == (expected.sensitivity is None) == (model == "lstm")
    if model == "rnn":
        assert found.sensitivity == pytest.approx(expected.sensitivity, rel=1e-9)


def test_where_nan_came_from_is_found():
    net, x, labels = vectors()
    twin = net.on(get_backend("cupy"))
    twin.params["dense1.W"][0, 0] = np.nan
    assert first_not_finite(twin, twin.trace(x, labels)) == "the output of dense1"
    assert first_not_finite(twin) == "dense1.W"
