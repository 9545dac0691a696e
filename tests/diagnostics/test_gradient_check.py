"""The handwritten backward is right, and a wrong one is caught."""

import numpy as np
import pytest

from minisig import check_gradients, mlp, recurrent
from minisig.errors import UsageError
from minisig.gradients import Outer, Rows, RowSum, rows
from minisig.layers import Dense, Dropout, Embedding, ScaledTanh, Sigmoid
from minisig.network import Network
from minisig.optimizers import Momentum

EXACT = 1e-10


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (6, 7)), rng.integers(0, 4, 6)


@pytest.mark.parametrize("init", ["random+ep", "ortho+exact", "glorot"])
@pytest.mark.parametrize("activation", ["sigmoid", "scaled-tanh", "tanh"])
def test_backward_of_whole_networks_is_exact(data, init, activation):
    net = mlp([7, 6, 5, 5, 4], init=init, activation=activation, rng=1)
    assert check_gradients(net, *data).error < EXACT


def test_every_entry_of_every_parameter_and_of_the_input_is_looked_at(data):
    net = mlp([7, 6, 4], rng=1)
    assert set(check_gradients(net, *data).by_array) == {"dense0.W", "dense0.b", "dense1.W", "dense1.b", "x"}


def test_backward_is_exact_with_fixed_dropout_masks(data):
    net = mlp([7, 20, 20, 4], dropout=0.5, rng=1)
    assert check_gradients(net, *data, dropout_seed=3).error < EXACT
    x, labels = data
    with_masks = net.trace(x, labels, np.random.default_rng(3)).gradients["dense1.W"].dense(net.backend)
    without = net.trace(x, labels).gradients["dense1.W"].dense(net.backend)
    assert np.abs(with_masks - without).max() > 1e-3  # the masks were really on


def test_backward_stays_exact_where_momentum_leads(data):
    net, optimizer = mlp([7, 6, 5, 4], rng=1, dtype="float64"), Momentum(0.9)
    for _ in range(20):
        optimizer.update(net.params, net.trace(*data).gradients, net.backend, learning_rate=0.5)
        assert check_gradients(net, *data, entries=20).error < EXACT


def test_backward_is_exact_at_ten_layers_of_real_data(batch):
    x, labels = batch
    for init in ("random+ep", "lecun"):
        net = mlp([64, *[20] * 10, 10], init=init, rng=0, x=x)
        assert check_gradients(net, x[:5], labels[:5], entries=10).error < EXACT


class DenseForgetsTranspose(Dense):
    def backward(self, dz, x, backend):
        return backend.matmul(dz, self.params["W"]), self.gradients(dz, x, backend)


class DenseScalesOneWeight(Dense):
    def gradients(self, dz, x, backend):
        dz = dz.copy()
        dz[:, 2] *= 1 + 1e-6
        return {"W": Outer(x, dz), "b": RowSum(dz)}


class DenseForgetsBias(Dense):
    def gradients(self, dz, x, backend):
        return {"W": Outer(x, dz), "b": RowSum(0 * dz)}


class DenseReturnsNaN(Dense):
    def gradients(self, dz, x, backend):
        dz = dz.copy()
        dz[0, 0] = np.nan
        return {"W": Outer(x, dz), "b": RowSum(dz)}


class SigmoidForgetsDerivative(Sigmoid):
    def backward(self, dy, y, backend):
        return dy, {}


class ScaledTanhForgetsScale(ScaledTanh):
    def backward(self, dy, y, backend):
        return dy * (1 - y * y), {}


class DropoutForgetsMask(Dropout):
    def backward(self, dy, m, backend):
        return dy, {}


@pytest.mark.parametrize(
    ("broken", "suspect"),
    [
        (DenseForgetsTranspose, "dense0"),
        (DenseScalesOneWeight, "broken"),
        (DenseForgetsBias, "broken.b"),
        (DenseReturnsNaN, "broken"),
        (SigmoidForgetsDerivative, "dense0"),
        (ScaledTanhForgetsScale, "dense0"),
        (DropoutForgetsMask, "dense0"),
    ],
)
def test_a_broken_backward_is_caught_and_named(data, broken, suspect):
    x, labels = data
    sound = mlp([7, 4, 4], rng=1, dtype="float64")
    dense = sound.layers["dense1"]
    layer = (
        broken(**dense.params) if issubclass(broken, Dense) else broken(*([0.5] if issubclass(broken, Dropout) else []))
    )
    layers = [("dense0", sound.layers["dense0"]), ("sigmoid0", Sigmoid()), ("broken", layer)]
    if not issubclass(broken, Dense):
        layers.append(("dense1", dense))
    check = check_gradients(Network(layers, sound.backend), x, labels, dropout_seed=0)
    assert check.error > 1e-7
    wrong = {name for name, mismatch in check.by_array.items() if mismatch.error > 1e-7}
    assert any(name.startswith(suspect) for name in wrong)
    assert check.worst.where in str(check)


def test_a_complex_step_that_is_not_a_number_is_no_agreement(data):
    class Reals(Sigmoid):
        def forward(self, z, backend):
            y, cache = super().forward(z, backend)
            return y * np.where(np.imag(z) == 0, 1.0, np.nan), cache

    x, labels = data
    sound = mlp([7, 4, 4], rng=1, dtype="float64")
    layers = [("dense0", sound.layers["dense0"]), ("sigmoid0", Reals()), ("dense1", sound.layers["dense1"])]
    with np.errstate(invalid="ignore"):
        check = check_gradients(Network(layers, sound.backend), x, labels)
    assert check.error == check.by_array["dense0.W"].error == np.inf
    assert check.by_array["dense1.W"].error < EXACT


def test_one_wrong_entry_of_a_large_matrix_is_caught_though_few_entries_are_sampled(data):
    class OneWrong(Dense):
        def gradients(self, dz, x, backend):
            wrong = Outer(x, dz).dense(backend)
            wrong[17, 23] += 1e-3 * np.abs(wrong).max()
            return {"W": Outer(np.eye(len(wrong)), wrong), "b": RowSum(dz)}

    sound = mlp([7, 100, 100, 4], rng=1, dtype="float64")
    layers = dict(sound.layers)
    layers["dense1"] = OneWrong(**layers["dense1"].params)
    check = check_gradients(Network(list(layers.items()), sound.backend), *data, entries=5)
    assert check.error > 1e-6
    assert "dense1.W along a random direction" in str(check)


def test_a_wrong_table_is_caught_though_none_of_the_sampled_rows_occurs():
    class Twice(Embedding):
        def backward(self, dx, tokens, backend):
            return None, {"E": Rows(tokens.reshape(-1), 2 * rows(dx), len(self.params["E"]))}

    net = recurrent(10_000, [3] * 8, init="lecun", dtype="float64")
    tokens = np.arange(12).reshape(4, 3)
    assert check_gradients(net, tokens, tokens, entries=10).error < EXACT
    layers = {**net.layers, "embedding": Twice(**net.layers["embedding"].params)}
    assert check_gradients(Network(list(layers.items()), net.backend), tokens, tokens, entries=10).error > 1e-3


def test_no_entry_is_no_check(data):
    with pytest.raises(UsageError, match="entries=0"):
        check_gradients(mlp([7, 4]), *data, entries=0)
