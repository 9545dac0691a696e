"""Weights carried over to PyTorch and back."""

import numpy as np
import pytest

import minisig as ms
from minisig.errors import UsageError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'minisig[torch]'")
from torch import nn  # noqa: E402

from minisig.bridges.torch import from_torch, to_torch  # noqa: E402
from tests.bridges.modules import TOKENS, Model, own, sigmoids  # noqa: E402


@pytest.mark.parametrize(("model", "kind"), [("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_recurrent_weights_carried_over_give_the_same_outputs(model, kind):
    net, module = own(model), Model(kind)
    to_torch(net, module)
    np.testing.assert_allclose(module(torch.as_tensor(TOKENS)).detach(), net.forward(TOKENS), rtol=0, atol=1e-13)
    before = {name: w.copy() for name, w in net.params.items()}
    for w in net.params.values():
        w[...] = 0
    from_torch(module, net)
    for name, w in net.params.items():
        np.testing.assert_allclose(w, before[name], rtol=0, atol=1e-14, err_msg=name)


@pytest.mark.parametrize(("model", "kind"), [("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_a_module_carried_over_gives_the_same_outputs(model, kind):
    torch.manual_seed(0)
    net, module = own(model), Model(kind)
    from_torch(module, net)
    np.testing.assert_allclose(module(torch.as_tensor(TOKENS)).detach(), net.forward(TOKENS), rtol=0, atol=1e-13)


def test_an_mlp_goes_over_and_back(batch):
    net, module = ms.mlp([64, 20, 20, 10], dropout=0.5), sigmoids([64, 20, 20, 10])
    to_torch(net, module)
    np.testing.assert_allclose(module(torch.as_tensor(batch[0])).detach(), net.forward(batch[0]), rtol=0, atol=1e-5)
    other = ms.mlp([64, 20, 20, 10], rng=1)
    from_torch(module, other)
    for name, w in other.params.items():
        np.testing.assert_array_equal(w, net.params[name])


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (sigmoids([64, 20, 11]), r"dense1 has the shapes .*\(20, 10\).*, the module's 2 in our order .*\(20, 11\)"),
        (sigmoids([64, 20, 20, 10]), "the same in the same order"),
        (nn.Sequential(nn.Linear(64, 20), nn.LayerNorm(20), nn.Linear(20, 10)), "matches the module's 1.weight"),
        (nn.Sequential(nn.Linear(64, 20), nn.Sigmoid(), nn.Linear(20, 10, bias=False)), "2 has no bias"),
        (nn.RNN(64, 20, nonlinearity="relu"), "only tanh RNNs"),
        (nn.LSTM(64, 20, bidirectional=True), "go one way"),
        (nn.GRU(64, 20, bidirectional=True), "go one way"),
        (nn.Sequential(nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 10)), "1 is a ReLU, but the network has 1 Sigmoid"),
        (nn.Sequential(nn.Linear(64, 20), nn.Tanh(), nn.Linear(20, 10)), "1 is a Tanh"),
        (nn.Sequential(sigmoids([64, 20, 10]), nn.Sigmoid()), "1 is a Sigmoid"),
    ],
)
def test_a_module_that_does_not_match_is_refused_and_nothing_is_copied(module, message):
    net = ms.mlp([64, 20, 10])
    before = {name: w.clone() for name, w in module.state_dict().items()}
    with pytest.raises(UsageError, match=message):
        to_torch(net, module)
    assert all(torch.equal(w, before[name]) for name, w in module.state_dict().items())


@pytest.mark.parametrize(
    ("name", "kind"), [("sigmoid", nn.Sigmoid), ("tanh", nn.Tanh), ("relu", nn.ReLU), ("softplus", nn.Softplus)]
)
def test_weights_go_under_the_same_activation(name, kind):
    x = np.random.default_rng(0).normal(size=(9, 6))
    net = ms.mlp([6, 5, 4, 3], init="glorot", activation=name, dtype="float64")
    module = nn.Sequential(nn.Linear(6, 5), kind(), nn.Linear(5, 4), kind(), nn.Linear(4, 3)).double()
    to_torch(net, module)
    np.testing.assert_allclose(module(torch.as_tensor(x)).detach(), net.forward(x), rtol=0, atol=1e-12)
    own = type([*net.layers.values()][1]).__name__
    for other in {nn.Sigmoid, nn.Tanh, nn.ReLU, nn.Softplus} - {kind}:
        module[3] = other()
        with pytest.raises(UsageError, match=rf"3 is a {other.__name__}\b.*, but the network has 2 {own}"):
            from_torch(module, net)


def test_weights_do_not_go_under_a_steeper_softplus():
    net = ms.mlp([6, 5, 3], init="glorot", activation="softplus")
    with pytest.raises(UsageError, match=r"1 is a Softplus\(beta=2\.0, .*\), but the network has 1 Softplus"):
        to_torch(net, nn.Sequential(nn.Linear(6, 5), nn.Softplus(beta=2.0), nn.Linear(5, 3)))


def test_weights_do_not_go_under_other_activations():
    relus = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3), nn.Softmax(dim=1))
    with pytest.raises(UsageError, match="1 is a ReLU"):
        from_torch(relus, ms.mlp([6, 5, 3]))
    with pytest.raises(UsageError, match="torch has no ScaledTanh"):
        to_torch(ms.mlp([6, 5, 3], activation="scaled-tanh"), sigmoids([6, 5, 3]))
    with pytest.raises(UsageError, match=r"torch has no Erf, apply torch\.erf as a function"):
        to_torch(ms.mlp([6, 5, 3], init="glorot", activation="erf"), sigmoids([6, 5, 3]))
    with pytest.raises(UsageError, match="2 is a Sigmoid, but the network has no activation"):
        from_torch(nn.Sequential(nn.Embedding(7, 5), nn.LSTM(5, 5, 2), nn.Sigmoid(), nn.Linear(5, 7)), own("lstm"))
    from_torch(nn.Sequential(*relus[::2], relus[3]), ms.mlp([6, 5, 3], activation="scaled-tanh"))  # none to be seen
    net = ms.mlp([6, 5, 3])
    net.layers["sigmoid0"] = type("Relu", (), {"params": {}})()  # a layer of one's own may be anything
    from_torch(relus, net)
