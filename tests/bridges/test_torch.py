"""Against PyTorch: gradients, weights carried over, and EP in place."""

from itertools import pairwise

import numpy as np
import pytest

import minisig as ms
from minisig.errors import UsageError
from minisig.gradients import layer_norms
from minisig.theory import output_variance

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'minisig[torch]'")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from minisig.bridges.torch import ep_, from_torch, to_torch  # noqa: E402

TOKENS = np.random.default_rng(1).integers(0, 7, (6, 4))  # (T, B)
K = output_variance(0.0, np.sqrt(np.pi / 2))  # variance of an activity under EP
LABELS = np.random.default_rng(2).integers(0, 7, (6, 4))


class Model(nn.Module):
    """Tokens → embedding → recurrent layers → logits, as one would write it in torch."""

    def __init__(self, kind, hidden=(5, 5), vocabulary=7):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden[0])
        self.body = kind(hidden[0], hidden[0], num_layers=len(hidden))
        self.dense = nn.Linear(hidden[0], vocabulary)
        self.double()

    def forward(self, tokens):
        return self.dense(self.body(self.embedding(tokens))[0])


def sigmoids(sizes):
    layers = []
    for n, m in pairwise(sizes):
        layers += [nn.Linear(n, m), nn.Sigmoid()]
    return nn.Sequential(*layers[:-1])


def own(model):
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


def cases():
    rng = np.random.default_rng(0)
    mlp = ms.mlp([6, 9, 8, 7], dtype="float64"), dense_stack, rng.normal(size=(11, 6)), rng.integers(0, 7, 11)
    return {
        "mlp": mlp,
        "rnn": (own("rnn"), sigmoid_rnn, TOKENS, LABELS),
        "lstm": (own("lstm"), lstm, TOKENS, LABELS),
    }


@pytest.mark.parametrize("case", ["mlp", "rnn", "lstm"])
def test_our_gradients_are_those_of_autograd(case):
    net, forward, x, labels = cases()[case]
    expected = autograd(net, forward, x, labels)
    found = {name: g.dense(net.backend) for name, g in net.trace(x, labels).gradients.items()}
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        np.testing.assert_allclose(gradient, expected[name], rtol=0, atol=1e-13 * np.abs(expected[name]).max())


@pytest.mark.parametrize(("model", "kind"), [("rnn", nn.RNN), ("lstm", nn.LSTM)])
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


@pytest.mark.parametrize(("model", "kind"), [("rnn", nn.RNN), ("lstm", nn.LSTM)])
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


def test_weights_do_not_go_under_other_activations():
    relus = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3), nn.Softmax(dim=1))
    with pytest.raises(UsageError, match="1 is a ReLU"):
        from_torch(relus, ms.mlp([6, 5, 3]))
    with pytest.raises(UsageError, match="torch has no ScaledTanh"):
        to_torch(ms.mlp([6, 5, 3], activation="scaled-tanh"), sigmoids([6, 5, 3]))
    with pytest.raises(UsageError, match="2 is a Sigmoid, but the network has no activation"):
        from_torch(nn.Sequential(nn.Embedding(7, 5), nn.LSTM(5, 5, 2), nn.Sigmoid(), nn.Linear(5, 7)), own("lstm"))
    from_torch(nn.Sequential(*relus[::2], relus[3]), ms.mlp([6, 5, 3], activation="scaled-tanh"))  # none to be seen
    net = ms.mlp([6, 5, 3])
    net.layers["sigmoid0"] = type("Relu", (), {"params": {}})()  # a layer of one's own may be anything
    from_torch(relus, net)


def test_ep_gives_an_mlp_the_weights_of_ours(digits):
    x = digits.train.x[:500]
    module, net = sigmoids([64, 30, 30, 10]), ms.mlp([64, 30, 30, 10], rng=5, x=x)
    account = ep_(module, torch.as_tensor(x), rng=5)
    for i, linear in enumerate(m for m in module if isinstance(m, nn.Linear)):
        np.testing.assert_array_equal(linear.weight.detach().numpy().T, net.params[f"dense{i}.W"])
        np.testing.assert_array_equal(linear.bias.detach().numpy(), net.params[f"dense{i}.b"])
    assert [row.layer for row in account.layers] == ["0", "2", "4"]
    for row, ours in zip(account.layers, net.account.layers, strict=True):
        assert (row.shape, row.target) == (ours.shape, ours.target)
        assert (row.mean, row.std, row.neuron_std) == pytest.approx((ours.mean, ours.std, ours.neuron_std), abs=1e-5)


def gradient_sizes(module, x, labels):
    module.zero_grad()
    cross_entropy(module(torch.as_tensor(x)), torch.as_tensor(labels)).backward()
    sizes = {name: float(w.grad.norm()) for name, w in module.named_parameters()}
    return list(layer_norms(sizes).values())


def trained(module, data, steps=250):
    optimizer = torch.optim.SGD(module.parameters(), lr=0.02, momentum=0.9)
    batches = data.train.batches(50, 0)
    for i in range(1, steps + 1):
        batch = batches.at(i)
        optimizer.zero_grad()
        cross_entropy(module(torch.as_tensor(batch.x)), torch.as_tensor(batch.labels)).backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 2.0)
        optimizer.step()
    right = module(torch.as_tensor(data.valid.x)).argmax(dim=1).numpy() == data.valid.y
    return right.mean()


def test_ten_torch_layers_have_flat_gradients_and_learn_where_the_default_does_not(digits, batch):
    torch.manual_seed(0)
    plain, ep = (sigmoids([64, *[100] * 10, 10]) for _ in range(2))
    ep_(ep, digits.train.x)
    first, *_, last = gradient_sizes(plain, *batch)
    assert first < 1e-5 * last
    sizes = gradient_sizes(ep, *batch)
    assert max(sizes) < 4 * min(sizes)
    assert trained(plain, digits) < 0.2
    assert trained(ep, digits) > 0.8


def test_ep_reaches_through_nested_modules_and_leaves_the_rest_alone():
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(12)
            self.body = nn.ModuleList([nn.Sequential(nn.Linear(12, 30), nn.Dropout(0.5)), nn.Linear(30, 30)])
            self.head = nn.Linear(30, 4)

        def forward(self, x):
            x = self.norm(x.flatten(1))
            for layer in self.body:
                x = torch.sigmoid(layer(x))
            return self.head(x)

    module, x = Nested(), 5 + torch.rand(2000, 3, 4, generator=torch.Generator().manual_seed(0))
    module.body.eval()
    norm = module.norm.weight.clone()
    account = ep_(module, x)
    assert [row.layer for row in account.layers] == ["body.0.0", "body.1", "head"]
    assert (module.training, module.body.training) == (True, False)
    assert torch.equal(module.norm.weight, norm)
    seen = module.norm(x.flatten(1)).detach().numpy().astype(np.float64)
    first, second = module.body[0][0], module.body[1]
    W = first.weight.detach().numpy().astype(np.float64).T
    np.testing.assert_allclose(seen.var(axis=0) @ W**2, np.pi / 2, rtol=1e-5)
    np.testing.assert_allclose((seen @ W).mean(axis=0), -first.bias.detach(), atol=1e-5)
    np.testing.assert_allclose(second.weight.norm(dim=1).detach(), np.sqrt(np.pi / 2 / K), rtol=1e-5)
    z = module(x).detach().numpy()  # the dropout layer evaluates
    assert (account.layers[-1].mean, account.layers[-1].std) == pytest.approx((z.mean(), z.std()), abs=1e-5)


def test_ep_without_a_sample_takes_inputs_as_standard():
    account = ep_(sigmoids([40, 30, 5]), init="ortho+ep")
    assert "mean 0 and variance 1" in str(account)
    for row in account.layers:
        assert (row.mean, row.std) == pytest.approx((0, np.sqrt(np.pi / 2)), abs=1e-9)


def test_ep_brings_a_torch_rnn_where_ours_is():
    """A tanh is a sigmoid in disguise, so EP's tanh RNN, seen as ours, is EP's sigmoid RNN."""
    module, net = Model(nn.RNN, hidden=(50, 50), vocabulary=9), ms.recurrent(9, [50, 50], dtype="float64")
    tokens = np.random.default_rng(0).integers(0, 9, (30, 200))
    account = ep_(module, tokens, rng=0)
    assert [row.layer for row in account.layers] == ["body.l0", "body.l1", "dense"]
    from_torch(module, net)
    for name in ("rnn0", "rnn1"):
        np.testing.assert_allclose(np.linalg.norm(net.params[f"{name}.Wh"], axis=0), np.sqrt(np.pi / 2 / K))
    z = net.trace(tokens, tokens).logits()
    for row, name in zip(account.layers, ("rnn0", "rnn1", "dense"), strict=True):
        scale = 1 if name == "dense" else 2  # of torch's logit, z/2
        assert (scale * row.mean, scale * row.std) == pytest.approx((z[name].mean(), z[name].std()))


def test_ep_measures_what_comes_from_a_layer_that_it_does_not_know():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(8, 40), nn.Tanh(), nn.LayerNorm(40), nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 3)
    )
    with torch.no_grad():
        module[2].bias.fill_(7.0)
    x = torch.rand(3000, 8)
    ep_(module.bfloat16().double(), x, init="ortho+exact")
    seen = module[:3](x.double()).detach().numpy()
    z = module[:4](x.double()).detach().numpy()
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    W = module[3].weight.detach().numpy().T
    np.testing.assert_allclose(seen.var(axis=0) @ W**2, (1.7488 / 2) ** 2, rtol=1e-4)  # of a tanh, half a sigmoid's
    np.testing.assert_allclose(module[5].bias.detach(), 0)  # tanhs are centred already


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Conv2d(1, 1, 3), nn.Sigmoid()), "no Linear and no RNN layer in Sequential.*changed nothing"),
        (nn.LSTM(3, 4), "changed nothing"),
        (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), "1 is a ReLU"),
        (nn.Sequential(nn.Linear(3, 4), nn.PReLU(), nn.Linear(4, 2)), "1 is a PReLU"),
        (nn.Sequential(nn.Linear(3, 4, bias=False), nn.Sigmoid()), "0 has no bias"),
        (nn.RNN(3, 4, nonlinearity="relu"), "only tanh RNNs"),
    ],
)
def test_ep_refuses_what_it_is_not_about_and_changes_nothing(module, message):
    before = {name: w.clone() for name, w in module.state_dict().items()}
    with pytest.raises(UsageError, match=message):
        ep_(module)
    assert all(torch.equal(w, before[name]) for name, w in module.state_dict().items())


class HeadFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.body = nn.Linear(20, 3), nn.RNN(8, 20, num_layers=2)

    def forward(self, x):
        return self.head(self.body(x)[0])


def test_ep_refuses_layers_that_are_not_declared_in_the_order_of_their_calls():
    module = HeadFirst()
    before = {name: w.clone() for name, w in module.state_dict().items()}
    with pytest.raises(UsageError, match="calls head after body but declares it before: declare its layers in"):
        ep_(module, torch.rand(5, 4, 8))
    assert all(torch.equal(w, before[name]) for name, w in module.state_dict().items())


def test_ep_takes_a_sample_of_integers_where_the_model_does():
    class OneHot(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = nn.Linear(4, 3)

        def forward(self, tokens):
            return self.dense(nn.functional.one_hot(tokens, 4).float())

    x = torch.randint(0, 256, (200, 4), generator=torch.Generator().manual_seed(0))
    module, same = sigmoids([4, 6, 3]).double(), sigmoids([4, 6, 3]).double()
    ep_(module, x.to(torch.uint8))
    ep_(same, x.double())
    assert torch.equal(module[0].weight, same[0].weight)
    ep_(OneHot(), x[:, 0] % 4)  # before the first layer integers stay what they are


def test_ep_names_a_layer_that_the_sample_does_not_reach():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x):
            return self.used(x)

    with pytest.raises(UsageError, match="does not pass through idle"):
        ep_(Two(), torch.rand(5, 3))
    with pytest.raises(UsageError, match="unknown init 'lecun'"):
        ep_(Two(), init="lecun")
