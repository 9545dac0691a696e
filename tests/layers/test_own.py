"""Layers of one's own that say what their logits are, or do not: every part knows them."""

import numpy as np
import pytest

import minisig as ms
from minisig.diagnostics.memory import sensitivity
from minisig.errors import UsageError
from minisig.gradients import Evaluated, rows
from minisig.layers.recurrent import Recurrent
from minisig.network import Network


class Bare:
    """h_t = tanh(x_t Wx + h_{t−1} Wh), with gradients that are arrays and nothing said of its logits."""

    carries = True

    def __init__(self, Wx, Wh):
        self.params = {"Wx": Wx, "Wh": Wh}

    def forward(self, x, backend, state=None):
        Wx, Wh = self.params.values()
        z, h = x @ Wx, np.zeros((len(x) + 1, x.shape[1], len(Wh)), dtype=Wh.dtype)
        h[0] = 0.0 if state is None else state
        for t in range(len(x)):
            z[t] += h[t] @ Wh
            h[t + 1] = np.tanh(z[t])
        return h[1:], (x, z, h)

    def backward(self, dy, cache, backend):
        (x, z, h), (Wx, Wh) = cache, self.params.values()
        dh, dz = dy.copy(), np.empty_like(z)
        for t in reversed(range(len(x))):
            dz[t] = dh[t] * (1 - h[t + 1] ** 2)
            if t:
                dh[t - 1] += dz[t] @ Wh.T
        gradients = {"Wx": Evaluated(rows(x).T @ rows(dz)), "Wh": Evaluated(rows(h[:-1]).T @ rows(dz))}
        return dz @ Wx.T, gradients

    def last_state(self, cache):
        return cache[2][-1]


class Told(Bare):
    activation = ms.Tanh()

    @property
    def input_size(self):
        return len(self.params["Wx"])

    @property
    def state_size(self):
        return len(self.params["Wh"])

    def logits(self, y, cache):
        return cache[1]

    def logit_gradient(self, dy, cache, gradients):
        _, z, h = cache
        Wh, dh, dz = self.params["Wh"], dy.copy(), np.empty_like(z)
        for t in reversed(range(len(z))):
            dz[t] = dh[t] * (1 - h[t + 1] ** 2)
            if t:
                dh[t - 1] += dz[t] @ Wh.T
        return dz

    def activation_gradient(self, dy, dz, cache):
        dh = dy.copy()
        dh[:-1] += dz[1:] @ self.params["Wh"].T
        return dh


TOKENS = np.random.default_rng(0).integers(0, 5, (8, 3))


def around(kind):
    rng = np.random.default_rng(1)
    cell = kind(rng.standard_normal((5, 4)), rng.standard_normal((4, 4)))
    embedding = ms.Embedding(rng.standard_normal((5, 5)))
    dense = ms.Dense(rng.standard_normal((4, 5)), np.zeros(5))
    layers = {"embedding": embedding, "cell": cell, "dense": dense}
    return Network(layers, ms.get_backend(dtype="float64"))


def test_an_own_layer_with_wh_that_says_nothing_is_left_out_and_works():
    net = around(Bare)
    assert ms.check_gradients(net, TOKENS, TOKENS).error < 1e-10
    trace = net.trace(TOKENS, TOKENS)
    assert [*trace.logits()] == [*trace.logit_gradients()] == ["dense"]
    assert trace.activation_gradients() == {}
    assert ms.activation_statistics(trace) == []
    assert sensitivity(net, TOKENS) is None
    assert [row["name"] for row in ms.inspect_network(net, TOKENS, TOKENS).layers] == ["embedding", "cell", "dense"]


def test_an_own_layer_that_says_what_its_logits_are_is_measured():
    net = around(Told)
    trace = net.trace(TOKENS, TOKENS)
    z, y = trace.caches["cell"][1], trace.outputs["cell"]
    np.testing.assert_array_equal(trace.logits()["cell"], z)
    dz, dy = trace.logit_gradients()["cell"], trace.activation_gradients()["cell"]
    np.testing.assert_allclose(dz, dy * (1 - y**2), atol=1e-15)
    (row,) = ms.activation_statistics(trace)
    assert (row.name, row.mean, row.logit_std) == ("cell", pytest.approx(y.mean()), pytest.approx(z.std()))
    bounds = ms.vanishing_bounds(trace)
    assert [bound.to for bound in bounds.rows] == [f"cell[{t}]" for t in range(7, -1, -1)]
    assert bounds.rows[1].spectral == pytest.approx(bounds.rows[0].measured * np.linalg.norm(net.params["cell.Wh"], 2))
    J = np.eye(4)
    for t in range(1, 8):
        J = J @ net.params["cell.Wh"] * (1 - y[t, 0] ** 2)
    assert sensitivity(net, TOKENS[:, :1]) == pytest.approx(np.linalg.norm(J, 2))


def test_an_own_layer_that_says_what_it_takes_is_checked():
    net = around(Told)
    with pytest.raises(UsageError, match=r"cell: expected a state \(B, H\) = \(3, 4\)"):
        net.advance(TOKENS, {"cell": np.zeros((3, 5))})
    alone = Network([("cell", net.layers["cell"])], net.backend)
    with pytest.raises(UsageError, match=r"cell: expected inputs \(T, B, 5\), got shape \(2, 3, 4\)"):
        alone.forward(np.zeros((2, 3, 4)))

    class Gain:
        input_size = 3

        def __init__(self):
            self.params = {"a": np.ones(3)}

        def forward(self, x, backend):
            return x * self.params["a"], x

    with pytest.raises(UsageError, match=r"gain: expected rows of 3 inputs, got shape \(2, 4\)"):
        Network([("gain", Gain())], net.backend).forward(np.zeros((2, 4)))


def test_bounds_of_a_layer_without_wh_are_refused_in_words():
    class Renamed(Told):
        def __init__(self, Wx, U):
            self.params = {"Wx": Wx, "U": U}

        @property
        def state_size(self):
            return len(self.params["U"])

        def backward(self, dy, cache, backend):
            dx, gradients = Told(*self.params.values()).backward(dy, cache, backend)
            return dx, {"Wx": gradients["Wx"], "U": gradients["Wh"]}

    net = around(Renamed)
    assert sensitivity(net, TOKENS) is None
    with pytest.raises(
        UsageError, match=r"bounds need cell's weights from state to state, called Wh; it has \['Wx', 'U'\]"
    ):
        ms.vanishing_bounds(net.trace(TOKENS, TOKENS))


def test_a_recurrent_layer_whose_bias_gradient_is_an_array_has_logits_but_no_longer_their_gradients():
    class Summed(ms.RNN):
        def backward(self, dy, cache, backend):
            dx, found = super().backward(dy, cache, backend)
            return dx, found | {"b": Evaluated(found["b"].dense(backend))}

    net = ms.recurrent(5, [4], dtype="float64")
    layers = {**net.layers, "rnn0": Summed(**net.layers["rnn0"].params)}
    trace = Network(layers, net.backend).trace(TOKENS, TOKENS)
    assert [*trace.logits()] == ["rnn0", "dense"]
    assert [*trace.logit_gradients()] == ["dense"]
    assert trace.activation_gradients() == {}
    assert isinstance(layers["rnn0"], Recurrent)
