"""Rows of a table that are not looked up: the same numbers as if they were."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.diagnostics.gradient_check import check_gradients
from minisig.gradients import Outer, Rows, Summed
from minisig.layers import Embedding
from minisig.layers.lookup import Lookup
from minisig.network import Network, recurrent
from minisig.optimizers import Adam, Momentum
from tests.layers.gated import gru_network

V, H, T, B = 5, 7, 6, 8


class LooksUp(Embedding):
    """Always, as for a large vocabulary."""

    def forward(self, tokens, backend):
        return self.params["E"][tokens], tokens


def network(model):
    if model == "gru":
        return gru_network(V, [H])
    return recurrent(V, [H], model=model, init="random+ep" if model == "rnn" else "glorot", rng=1, dtype="float64")


@pytest.fixture(params=["rnn", "lstm", "gru"])
def pair(request):
    """A network that does not look up, and its twin that does; tokens and labels."""
    net = network(request.param)
    layers = [(name, LooksUp(**layer.params) if name == "embedding" else layer) for name, layer in net.layers.items()]
    return net, Network(layers, net.backend), *np.random.default_rng(0).integers(0, V, (2, T, B))


def test_a_small_vocabulary_is_not_looked_up_and_a_large_one_is():
    layer, tokens = Embedding(np.eye(V)), np.zeros((T, B), dtype=int)
    backend = recurrent(V, [H]).backend
    assert isinstance(layer.forward(tokens, backend)[0], Lookup)
    assert isinstance(layer.forward(tokens[:2, :2], backend)[0], np.ndarray)


def test_nothing_that_a_trace_holds_depends_on_it(pair):
    net, twin, tokens, labels = pair
    found, expected = net.trace(tokens, labels), twin.trace(tokens, labels)
    assert float(found.loss) == pytest.approx(float(expected.loss), rel=1e-13)
    for name in ("outputs", "deltas"):
        mine, right = getattr(found, name), getattr(expected, name)
        assert list(mine) == list(right)
        for (layer, array), other in zip(mine.items(), right.values(), strict=True):
            np.testing.assert_allclose(array, other, rtol=1e-11, atol=1e-14, err_msg=f"{name} {layer}")
    for name, g in found.gradients.items():
        other = expected.gradients[name]
        np.testing.assert_allclose(g.dense(net.backend), other.dense(net.backend), rtol=1e-10, atol=1e-13, err_msg=name)
        assert g.norm(net.backend) == pytest.approx(other.norm(net.backend), rel=1e-10)
        norms = g.sample_norms(B, net.backend), other.sample_norms(B, net.backend)
        np.testing.assert_allclose(*norms, rtol=1e-10, err_msg=name)


def test_the_gradients_are_sums_over_tokens(pair):
    net, twin, tokens, labels = pair
    mine, right = net.trace(tokens, labels).gradients, twin.trace(tokens, labels).gradients
    _, cell, _ = net.layers
    assert isinstance(mine[f"{cell}.Wx"], Summed)
    assert mine[f"{cell}.Wx"].x.shape == (V, H)
    assert isinstance(mine["embedding.E"], Summed)
    assert type(right[f"{cell}.Wx"]) is Outer
    assert type(right["embedding.E"]) is Rows


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradients_are_of_the_parameters_precision(pair, dtype):
    net, _, tokens, labels = pair
    net = net.on(get_backend("numpy", dtype))
    assert {g.dense(net.backend).dtype.name for g in net.trace(tokens, labels).gradients.values()} == {dtype}


def test_what_is_not_looked_up_passes_the_gradient_check(pair):
    net, _, tokens, labels = pair
    assert check_gradients(net, tokens, labels).error < 1e-9


def test_layers_that_know_nothing_of_lookups_get_arrays():
    net = recurrent(V, [H], rng=1, dropout=0.5)
    tokens = np.random.default_rng(0).integers(0, V, (T, B))
    trace = net.trace(tokens, tokens, np.random.default_rng(1))
    assert type(trace.gradients["rnn0.Wx"]) is Outer
    assert trace.outputs["embedding"].shape == (T, B, H)


@pytest.mark.parametrize("optimizer", [Momentum, Adam])
def test_training_is_the_same_though_parameters_change_while_gradients_are_still_to_be_made(pair, optimizer):
    net, twin, tokens, labels = pair
    twin = twin.on(net.backend)
    for one in (net, twin):
        make = optimizer()
        for _ in range(3):
            gradients = one.trace(tokens, labels).gradients
            make.update(one.params, gradients, one.backend, learning_rate=0.1)
    for name, w in net.params.items():
        np.testing.assert_allclose(w, twin.params[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_trace_does_not_change_with_the_parameters(pair):
    net, _, tokens, labels = pair
    trace = net.trace(tokens, labels)
    before = net.trace(tokens, labels)
    expected = {name: before.outputs[name].copy() for name in before.outputs}, before.gradient_norms()
    expected_deltas = {name: before.deltas[name].copy() for name in before.deltas}
    for w in net.params.values():
        w *= 2
    assert trace.gradient_norms() == pytest.approx(expected[1])
    for name in net.layers:
        np.testing.assert_array_equal(trace.outputs[name], expected[0][name])
        np.testing.assert_array_equal(trace.deltas[name], expected_deltas[name])


def test_arrays_are_made_however_one_asks_for_them(pair):
    net, _, tokens, labels = pair
    outputs = net.trace(tokens, labels).outputs
    for one in (outputs.get("embedding"), dict(outputs)["embedding"], next(iter(outputs.values()))):
        assert isinstance(one, np.ndarray)
    assert len(outputs) == len(net.layers)
