"""Against PyTorch: our gradients are those of autograd."""

import numpy as np
import pytest

import minisig as ms

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'minisig[torch]'")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from minisig.bridges.torch import to_torch  # noqa: E402
from tests.bridges.modules import LABELS, TOKENS, Model, own  # noqa: E402


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
