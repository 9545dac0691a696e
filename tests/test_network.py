"""Networks: structure, trace, and training against a naive second implementation."""

import numpy as np
import pytest

from minisig import mlp, recurrent
from minisig.backends import get_backend
from minisig.diagnostics.gradient_check import check_gradients
from minisig.errors import UsageError
from minisig.layers import LSTM, RNN, Dense, Embedding, Sigmoid
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


def test_a_trace_holds_every_output_and_its_gradient(batch):
    net = mlp([64, 5, 4, 10])
    trace = net.trace(*batch, input_gradient=True)
    assert list(trace.outputs) == list(trace.deltas) == list(net.layers)
    assert list(trace.gradients) == list(net.params)
    for name, output in trace.outputs.items():
        assert output.shape == trace.deltas[name].shape
    np.testing.assert_array_equal(trace.outputs["dense2"], net.forward(batch[0]))
    assert trace.dx.shape == trace.x.shape == batch[0].shape
    y, dy, dz = trace.outputs["sigmoid0"], trace.deltas["sigmoid0"], trace.deltas["dense0"]
    np.testing.assert_allclose(dz, dy * y * (1 - y), rtol=1e-5)


def test_logits_and_their_gradients_are_kept_layer_by_layer_and_step_by_step(batch):
    net = mlp([64, 5, 4, 10])
    trace = net.trace(*batch)
    assert list(trace.logits()) == list(trace.logit_gradients()) == ["dense0", "dense1", "dense2"]
    np.testing.assert_array_equal(trace.logits()["dense1"], trace.outputs["dense1"])
    np.testing.assert_array_equal(trace.logit_gradients()["dense1"], trace.deltas["dense1"])
    assert list(trace.activity_gradients()) == ["sigmoid0", "sigmoid1"]
    np.testing.assert_array_equal(trace.activity_gradients()["sigmoid1"], trace.deltas["sigmoid1"])
    tokens = np.random.default_rng(0).integers(0, 6, (9, 4))
    for model, init, width in (("rnn", "random+ep", 7), ("lstm", "glorot", 28)):
        net = recurrent(6, [7], model=model, init=init, dtype="float64")
        trace = net.trace(tokens, tokens)
        z, dz = trace.logits()[f"{model}0"], trace.logit_gradients()[f"{model}0"]
        assert z.shape == dz.shape == (9, 4, width)
        # A bias moves every logit of its neuron alike: its gradient is the sum of theirs.
        np.testing.assert_allclose(dz.sum(axis=(0, 1)), trace.gradients[f"{model}0.b"].dense(net.backend), atol=1e-12)
        y, dy = trace.outputs[f"{model}0"], trace.activity_gradients()[f"{model}0"]
        if model == "rnn":
            np.testing.assert_allclose(dz, dy * y * (1 - y), atol=1e-15)
        else:  # the output gate sees nothing but h = o · tanh(c)
            o, tanh_c = trace.caches["lstm0"].gates[..., 21:], trace.caches["lstm0"].tanh_c
            np.testing.assert_allclose(dz[..., 21:], dy * tanh_c * o * (1 - o), atol=1e-15)
        expected = (
            1 / (1 + np.exp(-z))
            if model == "rnn"
            else 1 / (1 + np.exp(-z[..., 21:])) * np.tanh(trace.caches["lstm0"].c[1:])
        )
        np.testing.assert_allclose(y, expected, atol=1e-14)


def test_leaving_out_the_input_gradient_changes_no_other(batch):
    net = mlp([64, 5, 10])
    with_dx, without = net.trace(*batch, input_gradient=True), net.trace(*batch)
    assert without.dx is None
    for name in net.params:
        np.testing.assert_array_equal(
            with_dx.gradients[name].dense(net.backend), without.gradients[name].dense(net.backend)
        )


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


def test_on_another_backend_a_network_is_a_copy(batch):
    net = mlp([64, 5, 10])
    double = net.on(get_backend("numpy", "float64"))
    np.testing.assert_allclose(double.forward(batch[0]), net.forward(batch[0]), atol=1e-5)
    double.params["dense0.W"][...] = 0
    assert net.params["dense0.W"].any()
    same = net.on(net.backend)
    same.params["dense0.W"][...] = 0
    assert net.params["dense0.W"].any()


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


def test_dropout_masks_come_from_the_generator_alone(batch):
    net = mlp([64, 30, 10], dropout=0.5)
    draw = [net.advance(batch[0], rng=np.random.default_rng(seed))[0] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draw[0], draw[1])
    assert np.abs(draw[0] - draw[2]).max() > 1e-3
    np.testing.assert_array_equal(net.forward(batch[0]), net.forward(batch[0]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": [4, 3, 2], "init": "randon+ep"}, r"Did you mean 'random\+ep'"),
        ({"sizes": [4, 3, 2], "activation": "relu"}, "sigmoid, scaled-tanh"),
        ({"sizes": [4, 3, 2], "backend": "numpi"}, "Did you mean 'numpy'"),
        ({"sizes": [4]}, "at least an input and an output"),
        *(({"sizes": sizes}, "positive whole numbers") for sizes in ([4, 0, 2], [-1, 3], [], 4, [4, 3.0, 2], "8x100")),
        ({"sizes": [64, 10], "x": np.zeros(64)}, r"expected data x \(N, n\).*got shape \(64,\)"),
        ({"sizes": [64, 10], "x": np.zeros((5, 8, 8))}, "reshape images to rows"),
        ({"sizes": [64, 10], "x": np.zeros((0, 64))}, r"got shape \(0, 64\)"),
        ({"sizes": [4, 3, 2], "init": None}, "unknown init 'None'"),
        ({"sizes": [4, 3, 2], "x": np.zeros((5, 7))}, "takes 4 inputs, the data have 7"),
        ({"sizes": [4, 3, 2], "init": "lsuv"}, "pass one"),
    ],
)
def test_a_wrong_network_is_refused_with_a_remedy(arguments, message):
    with pytest.raises(UsageError, match=message):
        mlp(arguments.pop("sizes"), **arguments)


@pytest.mark.parametrize("shape", [(5, 3), (4,)])
def test_inputs_of_the_wrong_shape_are_refused_by_the_layers_name(shape):
    with pytest.raises(UsageError, match=r"dense0: expected rows of 4 inputs, got shape"):
        mlp([4, 3, 2]).trace(np.zeros(shape), [0] * shape[0])


def test_layers_that_do_not_fit_are_named():
    layers = mlp([4, 5, 3]).layers, mlp([6, 3]).layers
    net = Network([("first", layers[0]["dense0"]), ("second", layers[1]["dense0"])], get_backend())
    with pytest.raises(UsageError, match=r"second: expected rows of 6 inputs, got shape \(2, 5\)"):
        net.trace(np.zeros((2, 4)), [0, 1])
    cell = recurrent(5, [3]).layers["rnn0"]
    net = Network([("embedding", recurrent(5, [4]).layers["embedding"]), ("cell", cell)], get_backend())
    for T in (2, 30):  # so many tokens that the embedding hands on a Lookup
        with pytest.raises(UsageError, match=rf"cell: expected inputs \(T, B, 3\), got shape \({T}, 2, 4\)"):
            net.forward(np.zeros((T, 2), dtype=int))


@pytest.mark.parametrize("model", ["rnn", "lstm"])
@pytest.mark.parametrize("shape", [(6, 3), (6, 2, 2, 3)])
def test_a_recurrent_layer_takes_time_batch_and_inputs(model, shape):
    cell = recurrent(5, [3], model=model, init="glorot").layers[f"{model}0"]
    with pytest.raises(UsageError, match=r"cell: expected inputs \(T, B, 3\)"):
        Network([("cell", cell)], get_backend()).forward(np.zeros(shape))


@pytest.mark.parametrize(
    "layer",
    [
        Dense(np.ones((4, 5)), np.ones(1)),
        Dense(np.ones((4, 5)), np.ones((1, 5))),
        Dense(np.ones(4), np.ones(4)),
        Dense(np.ones((4, 5), dtype=int), np.ones(5)),
        Dense(np.ones((4, 1)), np.array(1.0)),
        Dense([[1.0]], [1.0]),
        LSTM(np.ones((4, 5)), np.ones((1, 5)), np.ones(5)),
        RNN(np.ones((4, 5)), np.ones((4, 5)), np.ones(5)),
        RNN(np.ones((4, 6)), np.ones((5, 5)), np.ones(5)),
        LSTM(np.ones((4, 5)), np.ones((5, 5)), np.ones(5)),
    ],
)
def test_weights_that_do_not_fit_together_are_refused_by_the_layers_name(layer):
    with pytest.raises(
        UsageError, match=r"^mine(: .*do not fit together|\.[Wb]\w*: expected an array of floating numbers)"
    ):
        Network([("mine", layer)], get_backend())


def test_layers_without_names_are_refused():
    with pytest.raises(UsageError, match=r"expected \(name, layer\) pairs, got \['Sigmoid'\]"):
        Network([Sigmoid()], get_backend())


def test_a_backward_that_forgets_a_parameter_is_named():
    class Forgetful(Dense):
        def gradients(self, dz, x, backend):
            return {"W": super().gradients(dz, x, backend)["W"]}

    net = Network([("mine", Forgetful(np.ones((4, 2)), np.ones(2)))], get_backend(dtype="float64"))
    with pytest.raises(UsageError, match=r"mine: backward gave gradients for \['W'\], expected \['W', 'b'\]"):
        net.trace(np.zeros((2, 4)), [0, 1])


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


@pytest.mark.parametrize("net", [mlp([4, 3, 2]), recurrent(4, [3])], ids=["mlp", "rnn"])
def test_an_empty_batch_is_refused(net):
    empty = np.zeros((0, 4), dtype=int if "embedding" in net.layers else float)
    with pytest.raises(UsageError, match=r"expected at least one example, got none, in shape \(0, 4\)"):
        net.forward(empty)


def test_parameters_that_do_not_fit_change_nothing():
    net, other = mlp([4, 3, 2]), mlp([4, 3, 2], rng=1)
    before = {name: w.copy() for name, w in net.params.items()}
    with pytest.raises(UsageError, match=r"dense1\.b: expected shape"):
        net.load({**other.params, "dense1.b": np.zeros(5)})
    for name, w in net.params.items():
        np.testing.assert_array_equal(w, before[name])


def test_a_network_without_layers_is_refused():
    with pytest.raises(UsageError, match="at least one layer"):
        Network([], get_backend())


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        ([0, -1], "int64 from -1 to 0"),
        ([0, 2], "int64 from 0 to 2"),
        ([0.0, 1.0], "float64 from 0.0 to 1.0"),
        ([True, False], "bool"),
        (["a", "b"], "<U1"),
        ([0, None], "object"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, got):
    with pytest.raises(UsageError, match=f"integers from 0 to 1, got {got}"):
        mlp([4, 3, 2]).trace(np.zeros((2, 4)), labels)


def test_labels_may_be_a_list():
    assert mlp([4, 3, 2]).trace(np.zeros((2, 4)), [0, 1]).loss > 0


def test_layer_names_must_differ():
    with pytest.raises(UsageError, match="must differ"):
        Network([("a", Sigmoid()), ("a", Sigmoid())], get_backend())


@pytest.mark.parametrize(
    ("tokens", "got"),
    [(np.zeros((3, 2)), "float64 of shape"), (np.zeros(3, dtype=int), "int64 of shape"), ([["a"]], "<U1 of shape")],
)
def test_what_are_no_tokens_is_refused_by_the_layers_name(tokens, got):
    with pytest.raises(UsageError, match=f"embedding: expected integer tokens .T, B., got {got}"):
        recurrent(5, [3]).forward(tokens)


@pytest.mark.parametrize("T", [3, 30])
@pytest.mark.parametrize("token", [-1, 5])
def test_tokens_beyond_the_vocabulary_are_refused(T, token):
    tokens = np.zeros((T, 2), dtype=int)
    tokens[-1, -1] = token
    with pytest.raises(UsageError, match=rf"embedding: expected tokens from 0 to 4, got {min(0, token)} to"):
        recurrent(5, [3]).trace(tokens, np.zeros((T, 2), dtype=int))


@pytest.mark.parametrize("shape", [(2, 3), (7,), (3, 3)])
def test_labels_that_do_not_belong_to_the_predictions_are_refused(shape):
    with pytest.raises(UsageError, match=r"expected labels of shape \(3, 2\)"):
        recurrent(5, [3]).trace(np.zeros((3, 2), dtype=int), np.zeros(shape, dtype=int))
