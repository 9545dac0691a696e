"""What a network is given and does not fit is refused, by the name of the layer and with what was expected."""

import numpy as np
import pytest

from minisig import mlp, recurrent
from minisig.backends import get_backend
from minisig.errors import UsageError
from minisig.gradients import Evaluated
from minisig.layers import GRU, LSTM, RNN, Dense, Embedding, Sigmoid
from minisig.network import Network


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ([4, 3, 2], {"init": "randon+ep"}, r"Did you mean 'random\+ep'"),
        ([4, 3, 2], {"activation": "rely"}, "Did you mean 'relu'.* sigmoid, scaled-tanh, tanh, relu, softplus, erf"),
        ([4, 3, 2], {"backend": "numpi"}, "Did you mean 'numpy'"),
        ([4], {}, "at least an input and an output"),
        *((sizes, {}, "positive whole numbers") for sizes in ([4, 0, 2], [-1, 3], [], 4, [4, 3.0, 2], "8x100")),
        ([64, 10], {"x": np.zeros(64)}, r"expected data x \(N, n\).*got shape \(64,\)"),
        ([64, 10], {"x": np.zeros((5, 8, 8))}, "reshape images to rows"),
        ([64, 10], {"x": np.zeros((0, 64))}, r"got shape \(0, 64\)"),
        ([4, 3, 2], {"init": None}, "unknown init 'None'"),
        ([4, 3, 2], {"x": np.zeros((5, 7))}, "takes 4 inputs, the data have 7"),
        ([4, 3, 2], {"init": "lsuv"}, "pass one"),
    ],
)
def test_a_wrong_network_is_refused_with_a_remedy(sizes, options, message):
    with pytest.raises(UsageError, match=message):
        mlp(sizes, **options)


def test_a_network_without_layers_is_refused():
    with pytest.raises(UsageError, match="at least one layer"):
        Network([], get_backend())


def test_layers_without_names_are_refused():
    with pytest.raises(UsageError, match=r"expected \(name, layer\) pairs, got \['Sigmoid'\]"):
        Network([Sigmoid()], get_backend())


def test_layers_may_be_a_mapping():
    layers = mlp([4, 3, 2]).layers
    assert Network(layers, get_backend()).layers == layers


def test_layer_names_must_differ():
    with pytest.raises(UsageError, match="must differ"):
        Network([("a", Sigmoid()), ("a", Sigmoid())], get_backend())


@pytest.mark.parametrize(
    "layer",
    [
        Dense(np.ones((4, 5)), np.ones(1)),
        Dense(np.ones((4, 5)), np.ones((1, 5))),
        Dense(np.ones(4), np.ones(4)),
        Dense(np.ones((4, 5), dtype=int), np.ones(5)),
        Dense(np.ones((4, 1)), np.array(1.0)),
        Dense([[1.0]], [1.0]),
        Dense(np.ones((4, 5), dtype="float16"), np.ones(5)),
        Dense(np.ones((4, 5)), np.ones(5, dtype=">f8")),
        Embedding(np.ones((4, 5), dtype=int)),
        LSTM(np.ones((4, 5)), np.ones((1, 5)), np.ones(5)),
        RNN(np.ones((4, 5)), np.ones((4, 5)), np.ones(5)),
        RNN(np.ones((4, 6)), np.ones((5, 5)), np.ones(5)),
        LSTM(np.ones((4, 5)), np.ones((5, 5)), np.ones(5)),
        GRU(np.ones((4, 6)), np.ones((2, 6)), np.ones(6), np.ones(6)),
        GRU(np.ones((4, 6)), np.ones((2, 6)), np.ones(6), np.ones((2, 1))),
        GRU(np.ones((4, 6)), np.ones((6, 6)), np.ones(6), np.ones(2)),
        GRU(np.ones((4, 8)), np.ones((2, 8)), np.ones(8), np.ones(2)),
        GRU(np.ones((4, 6)), np.ones((2, 6)), np.ones(6), np.ones(2, dtype=int)),
    ],
)
def test_weights_that_do_not_fit_together_are_refused_by_the_layers_name(layer):
    with pytest.raises(
        UsageError, match=r"^mine(: .*do not fit together|\.[EWbc]: expected an array of float32 or float64)"
    ):
        Network([("mine", layer)], get_backend())


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


@pytest.mark.parametrize("net", [mlp([4, 3, 2]), recurrent(4, [3])], ids=["mlp", "rnn"])
def test_an_empty_batch_is_refused(net):
    empty = np.zeros((0, 4), dtype=int if "embedding" in net.layers else float)
    with pytest.raises(UsageError, match=r"expected at least one example, got none, in shape \(0, 4\)"):
        net.forward(empty)


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


def test_a_backward_that_forgets_a_parameter_is_named():
    class Forgetful(Dense):
        def gradients(self, dz, x, backend):
            return {"W": super().gradients(dz, x, backend)["W"]}

    net = Network([("mine", Forgetful(np.ones((4, 2)), np.ones(2)))], get_backend(dtype="float64"))
    with pytest.raises(UsageError, match=r"mine: backward gave gradients for \['W'\], expected \['W', 'b'\]"):
        net.trace(np.zeros((2, 4)), [0, 1])


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (np.zeros((4, 2)), r"mine\.W: expected a Gradient, such as Evaluated\(array\), got ndarray"),
        (Evaluated(np.zeros((2, 4))), r"mine\.W has shape \(4, 2\), its gradient \(2, 4\)"),
    ],
    ids=["no gradient", "another shape"],
)
def test_a_backward_that_gives_something_else_is_named(gradient, message):
    class Careless(Dense):
        def gradients(self, dz, x, backend):
            return super().gradients(dz, x, backend) | {"W": gradient}

    net = Network([("mine", Careless(np.ones((4, 2)), np.ones(2)))], get_backend(dtype="float64"))
    with pytest.raises(UsageError, match=message):
        net.trace(np.zeros((2, 4)), [0, 1])


@pytest.mark.parametrize("x", [[[1.0, 2.0], [3.0]], [["a", "b"]]], ids=["ragged", "words"])
def test_what_are_no_rows_of_numbers_is_refused_by_the_layers_name(x):
    with pytest.raises(UsageError, match="dense0: expected rows of numbers, all of one length"):
        mlp([2, 3, 2]).forward(x)


@pytest.mark.parametrize("model", ["rnn", "lstm"])
@pytest.mark.parametrize("shape", [(2, 4), (1, 3), (3,)])
def test_a_state_of_another_batch_or_layer_is_refused_by_the_layers_name(model, shape):
    net, state = recurrent(5, [3], model=model, init="glorot"), np.zeros(shape, np.float32)
    with pytest.raises(UsageError, match=rf"{model}0: expected a state \(B, H\) = \(2, 3\)"):
        net.advance(np.zeros((4, 2), dtype=int), {f"{model}0": (state, state) if model == "lstm" else state})
