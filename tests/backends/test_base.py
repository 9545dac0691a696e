"""What a backend can do without a line of its own: every primitive as NumPy's has it, and networks that train."""

import numpy as np
import pytest

from minisig import mlp, recurrent
from minisig.backends import Backend, get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.diagnostics.gradient_check import check_gradients
from minisig.optimizers import Adam, Momentum
from tests.layers.gated import gru_network

B, N, H, T = 6, 5, 4, 3


class Plain(Backend):
    xp = np


class Draw:
    """Random arrays of one dtype, the same for every backend."""

    def __init__(self, dtype):
        self.rng, self.dtype = np.random.default_rng(0), dtype

    def __call__(self, *shape):
        return self.rng.standard_normal(shape).astype(self.dtype)

    def empty(self, *shape):
        return np.full(shape, np.nan, self.dtype)


def gemm(backend, draw):
    sums, product = draw(B, H), draw.empty(B, H)
    a, b = draw(B, N), draw(N, H)
    backend.gemm(-0.3, a, b, 0.9, sums)
    backend.gemm(1.0, a, b, 0.0, product)
    return sums, product


def norm(backend, draw):
    a = draw(30, 40)
    small = backend.norm((1e-30 * a).astype(a.dtype)) * 1e30
    return backend.norm(a), small, backend.norm(a[:, ::2]), backend.norm(a[:0]), backend.norm(0 * a)


def gram_norm(backend, draw):
    x, dz = draw(B, 20), draw(B, 30)
    tiny = backend.gram_norm((1e-18 * x).astype(x.dtype), (1e-18 * dz).astype(x.dtype)) * 1e36
    return backend.gram_norm(x, dz), tiny, backend.gram_norm(x, 0 * dz)


def clip_factor(backend, draw):
    norms = [3.0, 4.0], [0.1, 0.2], [0.0], [np.inf, 1.0], [np.nan]
    return [backend.clip_factor([np.float64(n) for n in some], 1.0) for some in norms]


def added(update, *shapes):
    """What an update of the first of the arrays makes of it."""

    def case(backend, draw):
        into, *others = (draw(*shape) for shape in shapes)
        update(backend, into, *others)
        return (into,)

    return case


def sigmoid(backend, draw):
    z, out = 20 * draw(B, N), draw.empty(B, N)
    assert backend.sigmoid(z, out=out) is out
    return backend.sigmoid(z), out, backend.sigmoid(np.array([-1e4, 1e4], z.dtype))


def sigmoid_backward(backend, draw):
    dy, y, out = draw(B, N), backend.sigmoid(draw(B, N)), draw.empty(B, N)
    assert backend.sigmoid_backward(dy, y, out=out) is out
    return backend.sigmoid_backward(dy, y), out


def lstm_gates(backend, draw):
    filled = draw.empty(B, 4 * H), *(draw.empty(B, H) for _ in range(3))
    backend.lstm_gates(3 * draw(B, 4 * H), draw(B, H), *filled)
    return filled


def lstm_slopes(backend, draw):
    return backend.lstm_slopes(draw(T, B, 4 * H), draw(T, B, H), draw(T, B, H))


def lstm_gates_backward(backend, draw):
    dc, dz = draw(B, H), draw(B, 4 * H)
    backend.lstm_gates_backward(draw(B, H), dc, draw(B, H), draw(B, 4 * H)[:, H : 2 * H], dz)
    return dc, dz


def gru_gates(backend, draw):
    z, filled = 3 * draw(B, 3 * H), (draw.empty(B, 3 * H), draw.empty(B, H), draw.empty(B, H))
    backend.gru_gates(z, draw(B, 3 * H), draw(H), draw(B, H), *filled)
    return z, *filled


def gru_slopes(backend, draw):
    return (backend.gru_slopes(draw(T, B, 3 * H), draw(T, B, H), draw(T, B, H)),)


def gru_gates_backward(backend, draw):
    dz, da, dh_prev = draw(B, 3 * H), draw.empty(B, 3 * H), draw(B, H)
    backend.gru_gates_backward(draw(B, H), draw(B, 3 * H), dz, da, dh_prev)
    return dz, da, dh_prev


def softmax_cross_entropy(backend, draw):
    labels = draw.rng.integers(0, 7, B)
    return *backend.softmax_cross_entropy(4 * draw(B, 7), labels), *backend.softmax_cross_entropy(
        1e4 * draw(B, 7), labels
    )


def sigmoid_cross_entropy(backend, draw):
    targets = np.abs(np.tanh(draw(B, 7)))
    found = (backend.sigmoid_cross_entropy(size * draw(B, 7), targets) for size in (4, 1e4))
    return [array for both in found for array in both]


def adam(backend, draw):
    W, m, v = draw(B, N), draw(B, N), np.square(draw(B, N))
    for scale, *decay in ((1.0,), (0.3, 0.0), (0.3, 0.1)):
        backend.adam(W, m, v, draw(B, N), 0.1, 0.9, 0.99, 1e-3, scale, *decay)
    return W, m, v


def rmsprop(backend, draw):
    W, v = draw(B, N), np.square(draw(B, N))
    for scale in (1.0, 0.3):
        backend.rmsprop(W, v, draw(B, N), 0.1, 0.9, 1e-3, scale)
    return W, v


def bilinear(backend, draw):
    at = 4 + 4 * draw(2, 7, B, 3)
    at[:, 0] = np.round(at[:, 0])
    at[:, 1] = np.inf
    return (backend.bilinear(draw(B, 8, 9), at, -1.0),)


ROWS = np.array([3, 1, 3, 3, 0])
CASES = {
    "asarray": lambda backend, draw: (backend.asarray(np.arange(6).reshape(2, 3).T), backend.asarray([[1, 2], [3, 4]])),
    "to_host": lambda backend, draw: (backend.to_host(draw(B, N)),),
    "within": lambda backend, draw: [backend.within(a, 4) for a in (ROWS, ROWS - 1, ROWS + 1, ROWS[:0])],
    "floats": lambda backend, draw: backend.floats(list(draw(5))),
    "matmul": lambda backend, draw: (backend.matmul(draw(B, N), draw(N, H)),),
    "gemm": gemm,
    "add": added(lambda backend, into, a: backend.add(-0.3, a, into), (B, N), (B, N)),
    "norm": norm,
    "gram_norm": gram_norm,
    "rows_norm": lambda backend, draw: (backend.rows_norm(ROWS, draw(5, N), 9),),
    "clip_factor": clip_factor,
    "row_sum": lambda backend, draw: (backend.row_sum(draw(B, N)),),
    "add_row_sum": added(lambda backend, into, dz: backend.add_row_sum(-0.3, dz, 0.9, into), (N,), (B, N)),
    "affine": lambda backend, draw: (backend.affine(draw(B, N), draw(N, H), draw(H)),),
    "sigmoid": sigmoid,
    "sigmoid_backward": sigmoid_backward,
    "lstm_gates": lstm_gates,
    "lstm_slopes": lstm_slopes,
    "lstm_gates_backward": lstm_gates_backward,
    "gru_gates": gru_gates,
    "gru_slopes": gru_slopes,
    "gru_gates_backward": gru_gates_backward,
    "softmax_cross_entropy": softmax_cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "squared_error": lambda backend, draw: backend.squared_error(draw(B, 7), draw(B, 7)),
    "adam": adam,
    "rmsprop": rmsprop,
    "bilinear": bilinear,
    "scatter_add": added(lambda backend, into, values: backend.scatter_add(into, ROWS, values), (9, N), (5, N)),
}


def test_every_primitive_has_a_case():
    assert {name for name in vars(Backend) if not name.startswith("_")} - {"xp"} == CASES.keys()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_plain_array_operations_give_what_the_numpy_backend_gives(name, dtype):
    found, expected = (CASES[name](backend(dtype), Draw(dtype)) for backend in (Plain, NumpyBackend))
    for mine, right in zip(found, expected, strict=True):
        if isinstance(right, np.ndarray):
            assert mine.dtype == right.dtype == dtype
            assert mine.shape == right.shape
        largest = np.abs(right).max(initial=1.0)
        np.testing.assert_allclose(mine, right, rtol=0, atol=30 * largest * np.finfo(dtype).eps)


def test_a_factor_of_clipping_leaves_a_gradient_in_its_precision():
    factor = Plain("float32").clip_factor([np.float64(2.0)], 1.0)
    assert (factor * np.ones(2, "float32")).dtype == "float32"


# Whole networks


def vectors():
    rng = np.random.default_rng(0)
    return mlp([20, 15, 5], rng=1, dtype="float64"), rng.uniform(-1, 1, (9, 20)), rng.integers(0, 5, 9)


def sequences(net):
    return net, *np.random.default_rng(0).integers(0, 8, (2, 6, 7))


NETWORKS = {
    "mlp": vectors,
    "rnn": lambda: sequences(recurrent(8, [7, 5], rng=1, dtype="float64")),
    "lstm": lambda: sequences(recurrent(8, [7, 5], model="lstm", init="glorot", rng=1, dtype="float64")),
    "gru": lambda: sequences(gru_network(8, [7, 5])),
}


@pytest.fixture(params=NETWORKS)
def network(request):
    return NETWORKS[request.param]()


@pytest.mark.parametrize("optimizer", [Momentum, Adam])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-12)])
def test_a_network_trains_on_a_backend_without_a_line_of_its_own(network, optimizer, dtype, tolerance):
    net, x, labels = network
    trained, losses = [], []
    for backend in (Plain(dtype), get_backend("numpy", dtype)):
        twin, make = net.on(backend), optimizer()
        for _ in range(5):
            trace = twin.trace(x, labels)
            norms = [g.norm(backend) for g in trace.gradients.values()]
            scale = backend.clip_factor(norms, 0.5)
            make.update(twin.params, trace.gradients, backend, learning_rate=0.05, scale=scale)
            losses.append(float(trace.loss))
        trained.append(twin.params)
    assert losses[4] < losses[0]
    np.testing.assert_allclose(losses[:5], losses[5:], rtol=tolerance)
    for name, w in trained[0].items():
        assert w.dtype == dtype
        np.testing.assert_allclose(w, trained[1][name], rtol=0, atol=tolerance, err_msg=name)


def test_plain_array_operations_take_complex_numbers_for_differentiation(network, monkeypatch):
    net, x, labels = network
    monkeypatch.setattr("minisig.diagnostics.gradient_check.NumpyBackend", Plain)
    assert check_gradients(net, x, labels, entries=20).error < 1e-10
