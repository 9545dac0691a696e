"""RNN, LSTM and GRU against a plain loop over time and batch, and against complex-step differentiation."""

import numpy as np
import pytest

from minisig import check_gradients
from minisig.backends import get_backend
from minisig.layers import GRU, LSTM, RNN
from minisig.network import recurrent
from tests.layers.gated import gru
from tests.layers.sizes import B, H, N, T, V

BACKEND = get_backend("numpy", "float64")
EXACT = 1e-10


def g(z):
    return 1 / (1 + np.exp(-z))


def make(kind):
    rng = np.random.default_rng(2)
    if kind is GRU:
        return gru(N, H, rng)
    width = {RNN: H, LSTM: 4 * H}[kind]
    return kind(rng.standard_normal((N, width)), rng.standard_normal((H, width)), rng.standard_normal(width))


def naive(layer, x, state, dy):
    """Outputs, gradients and the last state, one example and one step at a time."""
    Wx, Wh, b = layer.params.values()
    y, dx = np.zeros((T, B, H)), np.zeros_like(x)
    dWx, dWh, db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)
    last = []
    for n in range(B):
        if isinstance(layer, RNN):
            h = [state[n]]
            for t in range(T):
                h.append(g(x[t, n] @ Wx + h[-1] @ Wh + b))
            last.append(h[-1])
        else:
            h, c, gates = [state[0][n]], [state[1][n]], []
            for t in range(T):
                i, f, u, o = np.split(x[t, n] @ Wx + h[-1] @ Wh + b, 4)
                gates.append((g(i), g(f), np.tanh(u), g(o)))
                i, f, u, o = gates[-1]
                c.append(f * c[-1] + i * u)
                h.append(o * np.tanh(c[-1]))
            last.append((h[-1], c[-1]))
            dc = np.zeros(H)
        dh = np.zeros(H)
        for t in reversed(range(T)):
            dh = dh + dy[t, n]
            if isinstance(layer, RNN):
                dz = dh * h[t + 1] * (1 - h[t + 1])
            else:
                i, f, u, o = gates[t]
                dc = dc + dh * o * (1 - np.tanh(c[t + 1]) ** 2)
                d = (
                    dc * u * i * (1 - i),
                    dc * c[t] * f * (1 - f),
                    dc * i * (1 - u**2),
                    dh * np.tanh(c[t + 1]) * o * (1 - o),
                )
                dz, dc = np.concatenate(d), dc * f
            dWx += np.outer(x[t, n], dz)
            dWh += np.outer(h[t], dz)
            db += dz
            dx[t, n], dh = Wx @ dz, Wh @ dz
        y[:, n] = h[1:]
    return y, dx, {"Wx": dWx, "Wh": dWh, "b": db}, last


def naive_gru(layer, x, state, dy):
    Wx, Wh, b, c = layer.params.values()
    Wr, Wu, Wn = np.split(Wx, 3, axis=1)
    Ur, Uu, Un = np.split(Wh, 3, axis=1)
    br, bu, bn = np.split(b, 3)
    y, dx = np.zeros((T, B, H)), np.zeros_like(x)
    gradients = {key: np.zeros_like(w) for key, w in layer.params.items()}
    last = []
    for k in range(B):
        h, gates = [state[k]], []
        for t in range(T):
            r, u = g(x[t, k] @ Wr + h[-1] @ Ur + br), g(x[t, k] @ Wu + h[-1] @ Uu + bu)
            n = np.tanh(x[t, k] @ Wn + bn + r * (h[-1] @ Un + c))
            gates.append((r, u, n))
            h.append((1 - u) * n + u * h[-1])
        dh = np.zeros(H)
        for t in reversed(range(T)):
            dh = dh + dy[t, k]
            r, u, n = gates[t]
            dn = dh * (1 - u) * (1 - n**2)
            du = dh * (h[t] - n) * u * (1 - u)
            dr = dn * (h[t] @ Un + c) * r * (1 - r)
            dz = np.concatenate([dr, du, dn])
            gradients["Wx"] += np.outer(x[t, k], dz)
            gradients["Wh"] += np.concatenate([np.outer(h[t], d) for d in (dr, du, dn * r)], axis=1)
            gradients["b"] += dz
            gradients["c"] += dn * r
            dx[t, k] = Wx @ dz
            dh = dh * u + Ur @ dr + Uu @ du + Un @ (dn * r)
        y[:, k] = h[1:]
        last.append(h[-1])
    return y, dx, gradients, last


@pytest.fixture(params=[RNN, LSTM, GRU])
def layer(request):
    return make(request.param)


@pytest.mark.parametrize("carried", [False, True])
def test_the_unrolled_layer_equals_a_plain_loop(layer, window, carried):
    x, dy = window
    rng = np.random.default_rng(1)
    if isinstance(layer, RNN):
        state = rng.uniform(0, 1, (B, H)) if carried else np.full((B, H), 0.5)
    elif isinstance(layer, GRU):
        state = rng.uniform(-1, 1, (B, H)) if carried else np.zeros((B, H))
    else:
        state = tuple(rng.standard_normal((2, B, H)) if carried else np.zeros((2, B, H)))
    y, cache = layer.forward(x, BACKEND, state if carried else None)
    dx, gradients = layer.backward(dy, cache, BACKEND)
    plain_loop = naive_gru if isinstance(layer, GRU) else naive
    y_naive, dx_naive, gradients_naive, last = plain_loop(layer, x, state, dy)
    np.testing.assert_allclose(y, y_naive, atol=1e-14)
    np.testing.assert_allclose(dx, dx_naive, atol=1e-12)
    assert gradients.keys() == gradients_naive.keys()
    for key, gradient in gradients.items():
        np.testing.assert_allclose(gradient.dense(BACKEND), gradients_naive[key], atol=1e-12)
    now = layer.last_state(cache)
    for n in range(B):
        mine = (now[0][n], now[1][n]) if isinstance(layer, LSTM) else now[n]
        np.testing.assert_allclose(mine, last[n], atol=1e-14)


def test_a_window_and_its_continuation_are_one_long_window(layer, window):
    x, _ = window
    whole, cache = layer.forward(x, BACKEND)
    first, half = layer.forward(x[:3], BACKEND)
    second, end = layer.forward(x[3:], BACKEND, layer.last_state(half))
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=1e-15)
    np.testing.assert_allclose(layer.last_state(end), layer.last_state(cache), atol=1e-15)


def test_a_recurrent_layer_changes_neither_its_input_nor_its_state(layer, window):
    x, dy = window
    state = layer.last_state(layer.forward(x, BACKEND)[1])
    before = x.copy(), dy.copy(), np.array(state)
    _, cache = layer.forward(x, BACKEND, state)
    layer.backward(dy, cache, BACKEND)
    for array, was in zip((x, dy, np.array(state)), before, strict=True):
        np.testing.assert_array_equal(array, was)


@pytest.mark.parametrize(
    ("model", "init"),
    [
        ("rnn", "random+ep"),
        ("rnn", "ortho+ep"),
        ("rnn", "lsuv"),
        ("rnn", "lecun"),
        ("lstm", "glorot"),
        ("lstm", "ortho"),
    ],
)
@pytest.mark.parametrize("hidden", [[H], [H, 4]], ids=["one layer", "two layers"])
def test_backpropagation_through_time_is_exact(text, model, init, hidden):
    tokens, labels = text
    net = recurrent(V, hidden, model=model, init=init, tokens=tokens, dropout=0.3)
    assert check_gradients(net, tokens, labels, entries=40).error < EXACT
    assert check_gradients(net, tokens, labels, dropout_seed=1, entries=40).error < EXACT
    carried = net.trace(tokens, labels).states
    assert set(carried) == {f"{model}{i}" for i in range(len(hidden))}
    assert check_gradients(net, tokens, labels, states=carried, entries=40).error < EXACT


@pytest.mark.parametrize(
    ("model", "vocabulary", "hidden", "count"),
    [
        ("rnn", 10, 100, 22_110),
        ("lstm", 10, 52, 22_890),
        ("rnn", 10_000, 200, 4_090_200),
        ("lstm", 10_000, 190, 4_099_560),
    ],
)
def test_the_papers_networks_have_so_many_parameters(model, vocabulary, hidden, count):
    net = recurrent(vocabulary, [hidden], model=model, init="lecun")
    assert sum(w.size for w in net.params.values()) == count


@pytest.mark.parametrize("model", ["rnn", "lstm"])
def test_a_wide_layer_on_a_short_window_is_the_same_as_on_part_of_a_long_one(model):
    """Few rows by a large matrix are stored by columns, and yet each step is written into on its own."""
    net = recurrent(3000, [1100], model=model, init="glorot")
    tokens = np.random.default_rng(0).integers(0, 3000, (300, 2))
    short, long = net.forward(tokens[:3]), net.forward(tokens)[:3]
    np.testing.assert_allclose(short, long, atol=1e-4)
