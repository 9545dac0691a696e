"""Layers of weights in a module of PyTorch's: those without biases, and those that are left alone."""

import numpy as np
import pytest

from minisig.errors import UsageError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'minisig[torch]'")
from torch import nn  # noqa: E402

from minisig.bridges.torch import ep_, from_torch, to_torch  # noqa: E402
from tests.bridges.modules import TOKENS, Model, own  # noqa: E402


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


def test_attention_keeps_its_own_weights():
    module = nn.Sequential(nn.MultiheadAttention(8, 2), nn.Linear(8, 4), nn.Sigmoid())
    before = module[0].out_proj.weight.detach().clone()
    account = ep_(module)
    assert [row.layer for row in account.layers] == ["1"]
    assert torch.equal(module[0].out_proj.weight, before)
