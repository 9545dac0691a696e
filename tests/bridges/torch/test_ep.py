"""EP in place, on networks of PyTorch's."""

import numpy as np
import pytest

import minisig as ms
from minisig.errors import UsageError
from minisig.gradients import layer_norms
from minisig.theory import output_variance

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'minisig[torch]'")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from minisig.bridges.torch import ep_, from_torch  # noqa: E402
from tests.bridges.modules import Model, sigmoids  # noqa: E402

K = output_variance(0.0, np.sqrt(np.pi / 2))  # variance of an activation under EP


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
