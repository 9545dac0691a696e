"""Networks: structure, copies, layers of one's own, and training against a naive second implementation."""

import numpy as np
import pytest

from minisig import mlp, recurrent
from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.diagnostics.gradient_check import check_gradients
from minisig.errors import UsageError
from minisig.initializers import INITIALIZERS, Target
from minisig.layers import Dense, Embedding
from minisig.network import Network
from minisig.optimizers import Momentum


def test_an_mlp_alternates_dense_layers_and_activations():
    net = mlp([4, 3, 2], dropout=0.5)
    assert list(net.layers) == ["dense0", "sigmoid0", "dropout0", "dense1"]
    assert {name: w.shape for name, w in net.params.items()} == {
        "dense0.W": (4, 3),
        "dense0.b": (3,),
        "dense1.W": (3, 2),
        "dense1.b": (2,),
    }
    assert {w.dtype.name for w in net.params.values()} == {"float32"}
    assert {w.dtype.name for w in mlp([4, 3, 2], dtype="float64").params.values()} == {"float64"}


def naive_gradients(params, depth, x, labels):
    """Backpropagation one example at a time, as in a textbook."""
    total = {name: np.zeros_like(w) for name, w in params.items()}
    loss = 0.0
    for example, label in zip(x, labels, strict=True):
        ys = [example]
        for i in range(depth):
            z = ys[-1] @ params[f"dense{i}.W"] + params[f"dense{i}.b"]
            ys.append(1 / (1 + np.exp(-z)) if i < depth - 1 else z)
        p = np.exp(ys[-1]) / np.exp(ys[-1]).sum()
        loss -= np.log(p[label]) / len(x)
        delta = (p - np.eye(len(p))[label]) / len(x)
        for i in reversed(range(depth)):
            total[f"dense{i}.W"] += np.outer(ys[i], delta)
            total[f"dense{i}.b"] += delta
            delta = (params[f"dense{i}.W"] @ delta) * ys[i] * (1 - ys[i])
    return loss, total


def test_training_with_momentum_equals_the_textbook_example_by_example(batch):
    x, labels = batch[0].astype(float), batch[1]
    net, optimizer = mlp([64, 9, 8, 10], rng=2, x=x, dtype="float64"), Momentum(0.9)
    params = {name: w.copy() for name, w in net.params.items()}
    v = {name: np.zeros_like(w) for name, w in params.items()}
    for _ in range(10):
        trace = net.trace(x, labels)
        loss, gradients = naive_gradients(params, 3, x, labels)
        assert float(trace.loss) == pytest.approx(loss, rel=1e-12)
        for name, g in gradients.items():
            np.testing.assert_allclose(trace.gradients[name].dense(net.backend), g, atol=1e-13)
            assert trace.gradient_norms()[name] == pytest.approx(np.linalg.norm(g), rel=1e-10)
            v[name] = 0.9 * v[name] - 0.2 * g
            params[name] += v[name]
        optimizer.update(net.params, trace.gradients, net.backend, learning_rate=0.2)
    for name, w in params.items():
        np.testing.assert_allclose(net.params[name], w, atol=1e-12)


def test_float32_training_follows_float64(batch):
    runs = {}
    for dtype in ("float32", "float64"):
        net, optimizer = mlp([64, 30, 30, 10], rng=0, x=batch[0], dtype=dtype), Momentum(0.9)
        for _ in range(20):
            trace = net.trace(*batch)
            optimizer.update(net.params, trace.gradients, net.backend, learning_rate=0.05)
        runs[dtype] = float(trace.loss)
    # Twenty steps on a smooth loss multiply float32's rounding, 6e-8, by a few hundred at most.
    assert runs["float32"] == pytest.approx(runs["float64"], rel=5e-5)


def test_the_input_gradient_is_made_only_if_it_is_asked_for(batch):
    class Counting(NumpyBackend):
        products = 0

        def matmul(self, a, b):
            self.products += 1
            return super().matmul(a, b)

    x, labels = batch[0].astype(float), batch[1]
    net = mlp([64, 5, 10], backend=Counting("float64"))
    with_dx, without = net.trace(x, labels, input_gradient=True), net.trace(x, labels)
    assert net.backend.products == 2 + 1  # dz Wᵀ of both layers, then of the last alone
    assert with_dx.dx.shape == x.shape
    assert without.dx is None
    for name, g in naive_gradients(net.params, 2, x, labels)[1].items():
        for trace in (with_dx, without):
            np.testing.assert_allclose(trace.gradients[name].dense(net.backend), g, atol=1e-13)


def test_a_layer_without_a_gradients_method_may_come_first(batch):
    class Negate:
        def __init__(self):
            self.params = {}

        def forward(self, x, backend):
            return -x, None

        def backward(self, dy, cache, backend):
            return -dy, {}

    inner = mlp([64, 5, 10])
    net = Network([("negate", Negate()), *inner.layers.items()], inner.backend)
    assert net.trace(*batch).dx is not None
    np.testing.assert_array_equal(net.forward(batch[0]), inner.forward(-batch[0]))


@pytest.mark.parametrize("T", [2, 30])
def test_an_embedding_alone_is_a_bigram_model(T):
    E = np.random.default_rng(0).standard_normal((3, 3))
    net = Network([("embedding", Embedding(E))], get_backend(dtype="float64"))
    tokens = np.arange(2 * T).reshape(T, 2) % 3
    np.testing.assert_array_equal(net.forward(tokens), E[tokens])
    assert check_gradients(net, tokens, tokens).error < 1e-10


def test_own_layers_may_take_tokens_without_a_parameter():
    class OneHot:
        params, takes_tokens = {}, True

        def forward(self, tokens, backend):
            return np.eye(4)[tokens], None

        def backward(self, dy, cache, backend):
            return None, {}

    net = Network([("hot", OneHot()), ("dense", Dense(np.ones((4, 2)), np.ones(2)))], get_backend(dtype="float64"))
    assert net.trace(np.arange(4).reshape(2, 2), [[0, 1], [1, 0]]).loss == pytest.approx(np.log(2))


def test_labels_may_be_a_list(batch):
    x, labels = batch
    net = mlp([64, 9, 10])
    assert net.trace(x, labels.tolist()).loss == net.trace(x, labels).loss


def test_on_another_backend_a_network_is_a_copy(batch):
    net = mlp([64, 5, 10])
    double = net.on(get_backend("numpy", "float64"))
    np.testing.assert_allclose(double.forward(batch[0]), net.forward(batch[0]), atol=1e-5)
    double.params["dense0.W"][...] = 0
    assert net.params["dense0.W"].any()
    same = net.on(net.backend)
    same.params["dense0.W"][...] = 0
    assert net.params["dense0.W"].any()


def test_states_of_one_precision_start_a_network_of_another():
    net, tokens = recurrent(7, [12]), np.arange(9)[:, None] % 7
    states = net.advance(tokens[:5])[1]
    z, _ = net.on(get_backend("numpy", "float64")).advance(tokens[5:], states)
    assert z.dtype == np.float64


def test_loading_copies_values_and_refuses_what_does_not_fit():
    net, other = mlp([4, 3, 2], rng=0), mlp([4, 3, 2], rng=1)
    net.load(other.params)
    for name, w in net.params.items():
        np.testing.assert_array_equal(w, other.params[name])
        assert w is not other.params[name]
    with pytest.raises(UsageError, match=r"dense0\.W: expected shape \(4, 3\), got \(5, 3\)"):
        net.load(mlp([5, 3, 2]).params)
    with pytest.raises(UsageError, match="do not fit"):
        net.load(mlp([4, 3, 3, 2]).params)


def test_parameters_that_do_not_fit_change_nothing():
    net, other = mlp([4, 3, 2]), mlp([4, 3, 2], rng=1)
    before = {name: w.copy() for name, w in net.params.items()}
    with pytest.raises(UsageError, match=r"dense1\.b: expected shape"):
        net.load({**other.params, "dense1.b": np.zeros(5)})
    for name, w in net.params.items():
        np.testing.assert_array_equal(w, before[name])


def test_dropout_masks_come_from_the_generator_alone(batch):
    net = mlp([64, 30, 10], dropout=0.5)
    draw = [net.advance(batch[0], rng=np.random.default_rng(seed))[0] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draw[0], draw[1])
    assert np.abs(draw[0] - draw[2]).max() > 1e-3
    np.testing.assert_array_equal(net.forward(batch[0]), net.forward(batch[0]))


def test_a_layer_may_draw_and_carry(batch):
    """The generator comes first, then the state, which is handed on to the next window."""

    class Drifting:
        params, draws, carries = {}, True, True

        def forward(self, x, backend, rng, state):
            total = (0.0 if state is None else state) + (0.0 if rng is None else rng.random())
            return x + total, np.array(total)

        def backward(self, dy, cache, backend):
            return dy, {}

        def last_state(self, cache):
            return cache

    net = Network({"drifting": Drifting(), **mlp([64, 10]).layers}, get_backend())
    first, second = np.random.default_rng(0).random(2)
    rng = np.random.default_rng(0)
    _, states = net.advance(batch[0], rng=rng)
    assert states == {"drifting": first}
    assert net.advance(batch[0], states, rng)[1] == {"drifting": first + second}
    assert net.advance(batch[0], states)[1] == {"drifting": first}


def test_the_parameters_are_the_networks_own_whatever_an_initializer_has_kept(monkeypatch):
    kept = [(np.ones((4, 2)), np.ones(2))]
    monkeypatch.setitem(INITIALIZERS, "mine", lambda sizes, rngs, inputs, activation: (kept, Target()))
    mlp([4, 2], init="mine", dtype="float64").params["dense0.W"][...] = 0
    assert kept[0][0].all()


@pytest.mark.parametrize(
    ("net", "lines"),
    [
        (
            lambda: mlp([3, 5, 2], activation="tanh", init="glorot", dropout=0.5, dtype="float64"),
            [
                "layer     weights  parameters",
                "dense0    3×5              20",
                "tanh0                       0",
                "dropout0                    0",
                "dense1    5×2              12",
                "32 parameters, float64, softmax-cross-entropy",
            ],
        ),
        (
            lambda: mlp([2000, 1], init="glorot", loss="mean-squared-error"),
            [
                "layer   weights  parameters",
                "dense0  2000×1        2,001",
                "2,001 parameters, float32, mean-squared-error",
            ],
        ),
    ],
    ids=["mlp", "regression"],
)
def test_a_network_is_shown_as_people_know_it(net, lines):
    assert str(net()).splitlines() == lines


def test_a_recurrent_network_is_shown_with_all_its_weights():
    net = recurrent(7, [4], model="lstm", init="glorot")
    _, *rows, last = str(net).splitlines()
    shown = {row.split()[0]: int(row.split()[-1].replace(",", "")) for row in rows}
    assert shown == {name: sum(w.size for w in layer.params.values()) for name, layer in net.layers.items()}
    assert last.startswith(f"{sum(shown.values()):,} parameters, float32, ")
