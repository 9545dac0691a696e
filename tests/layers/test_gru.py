"""The GRU: its gates, and backpropagation through it against complex-step differentiation."""

import numpy as np
import pytest

from minisig import check_gradients
from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.gradients import Outer
from minisig.layers import GRU, Dense
from minisig.network import Network
from tests.layers.gated import gru, gru_network
from tests.layers.sizes import B, H, N, T, V

BACKEND = get_backend("numpy", "float64")
EXACT = 1e-10


def g(z):
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("hidden", [[H], [H, 4]], ids=["one layer", "two layers"])
@pytest.mark.parametrize("shape", [(9, 4), (2, 3)], ids=["not looked up", "looked up"])
def test_backpropagation_through_a_gru_is_exact(hidden, shape):
    tokens, labels = np.random.default_rng(5).integers(0, V, (2, *shape))
    net = gru_network(V, hidden)
    assert check_gradients(net, tokens, labels, entries=40).error < EXACT
    carried = net.trace(tokens, labels).states
    assert set(carried) == {f"gru{i}" for i in range(len(hidden))}
    assert check_gradients(net, tokens, labels, states=carried, entries=40).error < EXACT


def test_backpropagation_through_a_gru_is_exact_for_dense_inputs(window):
    rng = np.random.default_rng(3)
    layers = [
        ("gru0", gru(N, H, np.random.default_rng(2))),
        ("dense", Dense(rng.standard_normal((H, V)), rng.standard_normal(V))),
    ]
    check = check_gradients(Network(layers, BACKEND), window[0], rng.integers(0, V, (T, B)))
    assert check.error < EXACT
    assert check.by_array.keys() == {"gru0.Wx", "gru0.Wh", "gru0.b", "gru0.c", "dense.W", "dense.b", "x"}


def test_a_gru_keeps_the_logits_of_its_gates(window):
    layer = gru(N, H, np.random.default_rng(2))
    _, cache = layer.forward(window[0], BACKEND)
    for t in range(T):
        z, a = window[0][t] @ layer.params["Wx"] + layer.params["b"], cache.h[t] @ layer.params["Wh"]
        r, u = np.split(g(z[:, : 2 * H] + a[:, : 2 * H]), 2, axis=1)
        n = z[:, 2 * H :] + r * (a[:, 2 * H :] + layer.params["c"])
        np.testing.assert_allclose(cache.z[t, :, : 2 * H], (z + a)[:, : 2 * H], atol=1e-14)
        np.testing.assert_allclose(cache.z[t, :, 2 * H :], n, atol=1e-14)
        np.testing.assert_allclose(cache.gates[t], np.concatenate([r, u, np.tanh(n)], axis=1), atol=1e-14)


class ForgetsWhatIsKept(GRU):
    def backward(self, dy, cache, backend):
        class Leaky:
            def __getattr__(self, name):
                return getattr(backend, name)

            def gru_gates_backward(self, dh, gates, dz, da, dh_prev):
                backend.gru_gates_backward(dh, gates, dz, da, dh_prev.copy())

        return super().backward(dy, cache, Leaky())


class ForgetsTheReset(GRU):
    def backward(self, dy, cache, backend):
        dx, gradients = super().backward(dy, cache, backend)
        return dx, gradients | {"Wh": Outer(gradients["Wh"].x, gradients["b"].dz)}


@pytest.mark.parametrize("broken", [ForgetsWhatIsKept, ForgetsTheReset])
def test_a_broken_backpropagation_through_a_gru_is_caught(text, broken):
    sound = gru_network(V, [H])
    layers = {name: broken(**layer.params) if name == "gru0" else layer for name, layer in sound.layers.items()}
    check = check_gradients(Network(list(layers.items()), sound.backend), *text)
    assert check.by_array["gru0.Wh"].error > 1e-3


def test_the_gradient_of_a_state_is_that_of_all_that_comes_after_it():
    """Of L = Σ_t ⟨c_t, h_t⟩, by the complex step from each state on its own."""
    rng = np.random.default_rng(0)
    T, B, n, H = 5, 2, 3, 4
    params = [rng.standard_normal(shape) for shape in ((n, 3 * H), (H, 3 * H), (3 * H,), (H,))]
    x, c = rng.standard_normal((T, B, n)), rng.standard_normal((T, B, H))
    gru, backend = GRU(*params), NumpyBackend("float64")
    h, cache = gru.forward(x, backend)
    _, gradients = gru.backward(c, cache, backend)
    found = gru.activation_gradient(c, gru.logit_gradient(c, cache, gradients), cache)
    exact, complex_backend = GRU(*(w.astype(complex) for w in params)), NumpyBackend("complex128")
    for t in range(T):
        for b, j in np.ndindex(B, H):
            state = h[t].astype(complex)
            state[b, j] += 1e-30j
            after = exact.forward(x[t + 1 :].astype(complex), complex_backend, state)[0] if t + 1 < T else []
            loss = (c[t] * state).sum() + sum((c[t + 1 + s] * y).sum() for s, y in enumerate(after))
            assert found[t, b, j] == pytest.approx(loss.imag / 1e-30, rel=1e-11, abs=1e-13)
