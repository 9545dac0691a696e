"""Embedding, RNN, LSTM and GRU against a plain loop over time and batch, and against complex-step differentiation."""

import numpy as np
import pytest

from minisig import check_gradients
from minisig.backends import get_backend
from minisig.gradients import Outer, RowSum, rows
from minisig.layers import GRU, LSTM, RNN, Dense, Embedding
from minisig.layers.lookup import affine_backward
from minisig.network import Network, recurrent
from tests.layers.gated import gru, gru_network

BACKEND = get_backend("numpy", "float64")
T, B, N, H, V = 7, 3, 4, 5, 6
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


@pytest.fixture
def window():
    rng = np.random.default_rng(0)
    return rng.standard_normal((T, B, N)), rng.standard_normal((T, B, H))


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


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(5)
    return rng.integers(0, V, (9, 4)), rng.integers(0, V, (9, 4))


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
    layers = [("gru0", make(GRU)), ("dense", Dense(rng.standard_normal((H, V)), rng.standard_normal(V)))]
    check = check_gradients(Network(layers, BACKEND), window[0], rng.integers(0, V, (T, B)))
    assert check.error < EXACT
    assert check.by_array.keys() == {"gru0.Wx", "gru0.Wh", "gru0.b", "gru0.c", "dense.W", "dense.b", "x"}


def test_a_gru_keeps_the_logits_of_its_gates(window):
    layer = make(GRU)
    _, cache = layer.forward(window[0], BACKEND)
    for t in range(T):
        z, a = window[0][t] @ layer.params["Wx"] + layer.params["b"], cache.h[t] @ layer.params["Wh"]
        r, u = np.split(g(z[:, : 2 * H] + a[:, : 2 * H]), 2, axis=1)
        n = z[:, 2 * H :] + r * (a[:, 2 * H :] + layer.params["c"])
        np.testing.assert_allclose(cache.z[t, :, : 2 * H], (z + a)[:, : 2 * H], atol=1e-14)
        np.testing.assert_allclose(cache.z[t, :, 2 * H :], n, atol=1e-14)
        np.testing.assert_allclose(cache.gates[t], np.concatenate([r, u, np.tanh(n)], axis=1), atol=1e-14)


class ForgetsDhNext(RNN):
    def backward(self, dy, cache, backend):
        dz = backend.sigmoid_backward(dy, cache.h[1:])
        dx, dWx = affine_backward(dz, cache.x, self.params["Wx"], backend)
        return dx, {"Wx": dWx, "Wh": Outer(rows(cache.h[:-1]), rows(dz)), "b": RowSum(rows(dz))}


class TakesTheWrongState(RNN):
    def backward(self, dy, cache, backend):
        dx, gradients = super().backward(dy, cache, backend)
        return dx, gradients | {"Wh": Outer(rows(cache.h[1:]), gradients["Wh"].dz)}


class ForgetsTheCell(LSTM):
    def backward(self, dy, cache, backend):
        class Leaky:
            def __getattr__(self, name):
                return getattr(backend, name)

            def lstm_gates_backward(self, dh, dc, *others):
                backend.lstm_gates_backward(dh, dc, *others)
                dc[...] = 0.0

        return super().backward(dy, cache, Leaky())


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


@pytest.mark.parametrize("broken", [ForgetsDhNext, TakesTheWrongState, ForgetsTheCell])
def test_a_broken_backpropagation_through_time_is_caught(text, broken):
    model, init = ("lstm", "glorot") if issubclass(broken, LSTM) else ("rnn", "random+ep")
    sound = recurrent(V, [H], model=model, init=init)
    layers = {name: broken(**layer.params) if name == f"{model}0" else layer for name, layer in sound.layers.items()}
    check = check_gradients(Network(list(layers.items()), sound.backend), *text)
    assert check.error > 1e-3
    assert f"{model}0.Wh" in {name for name, mismatch in check.by_array.items() if mismatch.error > 1e-3}


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


def test_dropout_leaves_the_recurrent_connections_alone(text):
    tokens, labels = text
    net = recurrent(V, [50], dropout=0.5)
    assert list(net.layers) == ["embedding", "dropout0", "rnn0", "dropout1", "dense"]
    trace = net.trace(tokens, labels, np.random.default_rng(0))
    assert (trace.outputs["dropout1"] == 0).mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(9 * 4 * 50))
    assert (trace.caches["rnn0"].h > 0).all()  # what the layer hands to its own next step was never silenced


@pytest.mark.parametrize("model", ["rnn", "lstm"])
def test_a_wide_layer_on_a_short_window_is_the_same_as_on_part_of_a_long_one(model):
    """Few rows by a large matrix are stored by columns, and yet each step is written into on its own."""
    net = recurrent(3000, [1100], model=model, init="glorot")
    tokens = np.random.default_rng(0).integers(0, 3000, (300, 2))
    short, long = net.forward(tokens[:3]), net.forward(tokens)[:3]
    np.testing.assert_allclose(short, long, atol=1e-4)
