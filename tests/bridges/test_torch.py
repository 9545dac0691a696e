"""Against PyTorch: gradients, and weights carried over."""

import numpy as np
import pytest

import minisig as ms
from minisig.errors import UsageError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'minisig[torch]'")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from minisig.bridges.torch import from_torch, to_torch  # noqa: E402
from tests.bridges.modules import Model, sigmoids  # noqa: E402
from tests.layers.gated import gru_network  # noqa: E402

TOKENS = np.random.default_rng(1).integers(0, 7, (6, 4))  # (T, B)
LABELS = np.random.default_rng(2).integers(0, 7, (6, 4))


def own(model):
    if model == "gru":
        return gru_network(7, [5, 5])
    net = ms.recurrent(7, [5, 5], model=model, init="glorot" if model == "lstm" else "ortho+ep", dtype="float64")
    for name, w in net.params.items():
        if name.endswith("b"):
            w += np.random.default_rng(3).normal(size=w.shape)  # no bias may be lost unnoticed
    return net


def autograd(net, forward, x, labels):
    """Gradients of every parameter by torch's autograd, with `forward` written on our parameters by their names."""
    params = {name: torch.tensor(w, requires_grad=True) for name, w in net.params.items()}
    z = forward(params, torch.as_tensor(x))
    cross_entropy(z.reshape(-1, z.shape[-1]), torch.as_tensor(labels).reshape(-1)).backward()
    return {name: w.grad.numpy() for name, w in params.items()}


def dense_stack(p, x):
    for i in range(3):
        x = (torch.sigmoid(x) if i else x) @ p[f"dense{i}.W"] + p[f"dense{i}.b"]
    return x


def sigmoid_rnn(p, tokens):
    x = p["embedding.E"][tokens]
    for k in range(2):
        h, states = torch.full((4, 5), 0.5, dtype=torch.float64), []
        for x_t in x:
            h = torch.sigmoid(x_t @ p[f"rnn{k}.Wx"] + h @ p[f"rnn{k}.Wh"] + p[f"rnn{k}.b"])
            states.append(h)
        x = torch.stack(states)
    return x @ p["dense.W"] + p["dense.b"]


def lstm(p, tokens):
    x = p["embedding.E"][tokens]
    for k in range(2):
        h = c = torch.zeros(4, 5, dtype=torch.float64)
        states = []
        for x_t in x:
            i, f, g, o = (x_t @ p[f"lstm{k}.Wx"] + h @ p[f"lstm{k}.Wh"] + p[f"lstm{k}.b"]).chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        x = torch.stack(states)
    return x @ p["dense.W"] + p["dense.b"]


def gru(p, tokens):
    x = p["embedding.E"][tokens]
    for k in range(2):
        h, states = torch.zeros(4, 5, dtype=torch.float64), []
        for x_t in x:
            z_r, z_u, z_n = (x_t @ p[f"gru{k}.Wx"] + p[f"gru{k}.b"]).chunk(3, dim=1)
            a_r, a_u, a_n = (h @ p[f"gru{k}.Wh"]).chunk(3, dim=1)
            r, u = torch.sigmoid(z_r + a_r), torch.sigmoid(z_u + a_u)
            n = torch.tanh(z_n + r * (a_n + p[f"gru{k}.c"]))
            h = (1 - u) * n + u * h
            states.append(h)
        x = torch.stack(states)
    return x @ p["dense.W"] + p["dense.b"]


def cases():
    rng = np.random.default_rng(0)
    mlp = ms.mlp([6, 9, 8, 7], dtype="float64"), dense_stack, rng.normal(size=(11, 6)), rng.integers(0, 7, 11)
    return {
        "mlp": mlp,
        "rnn": (own("rnn"), sigmoid_rnn, TOKENS, LABELS),
        "lstm": (own("lstm"), lstm, TOKENS, LABELS),
        "gru": (own("gru"), gru, TOKENS, LABELS),
    }


@pytest.mark.parametrize("case", ["mlp", "rnn", "lstm", "gru"])
def test_our_gradients_are_those_of_autograd(case):
    net, forward, x, labels = cases()[case]
    expected = autograd(net, forward, x, labels)
    found = {name: g.dense(net.backend) for name, g in net.trace(x, labels).gradients.items()}
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        np.testing.assert_allclose(gradient, expected[name], rtol=0, atol=1e-13 * np.abs(expected[name]).max())


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


def test_a_gru_is_that_of_torch_with_every_gradient():
    """Of the built-in one, whose gradients come in torch's own layout, with two biases."""
    net, module = own("gru"), Model(nn.GRU)
    to_torch(net, module)
    z = module(torch.as_tensor(TOKENS))
    cross_entropy(z.reshape(-1, 7), torch.as_tensor(LABELS).reshape(-1)).backward()
    trace = net.trace(TOKENS, LABELS)
    found = {name: g.dense(net.backend) for name, g in trace.gradients.items()}
    theirs = {name: w.grad.numpy() for name, w in module.named_parameters()}
    np.testing.assert_allclose(trace.outputs["dense"], z.detach(), rtol=0, atol=1e-13)
    expected = {"embedding.E": theirs["embedding.weight"]}
    for k in range(2):
        expected |= {f"gru{k}.{ours}": theirs[f"body.weight_{w}_l{k}"].T for ours, w in (("Wx", "ih"), ("Wh", "hh"))}
        expected |= {f"gru{k}.b": theirs[f"body.bias_ih_l{k}"], f"gru{k}.c": theirs[f"body.bias_hh_l{k}"][-5:]}
        np.testing.assert_allclose(theirs[f"body.bias_hh_l{k}"][:-5], found[f"gru{k}.b"][:-5], rtol=0, atol=1e-13)
    expected |= {"dense.W": theirs["dense.weight"].T, "dense.b": theirs["dense.bias"]}
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        right = expected[name]
        np.testing.assert_allclose(gradient, right, rtol=0, atol=1e-12 * np.abs(right).max(), err_msg=name)


@pytest.mark.parametrize("key", ["b", "c"])
def test_a_gru_without_biases_takes_none(key):
    net, module = own("gru"), Model(lambda *sizes, **options: nn.GRU(*sizes, bias=False, **options))
    for w in ("gru0.b", "gru0.c", "gru1.b", "gru1.c"):
        net.params[w][...] = 0
    to_torch(net, module)
    np.testing.assert_allclose(module(torch.as_tensor(TOKENS)).detach(), net.forward(TOKENS), rtol=0, atol=1e-13)
    net.params[f"gru1.{key}"][1] = 0.1
    with pytest.raises(UsageError, match="l1 has no bias"):
        to_torch(net, module)
    from_torch(module, net)
    assert not net.params[f"gru1.{key}"].any()


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
