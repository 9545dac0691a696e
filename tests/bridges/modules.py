"""Networks as one would write them in torch, ours to go with them, and what both are given."""

from itertools import pairwise

import numpy as np
from torch import nn

import minisig as ms
from tests.layers.gated import gru_network

TOKENS = np.random.default_rng(1).integers(0, 7, (6, 4))  # (T, B)
LABELS = np.random.default_rng(2).integers(0, 7, (6, 4))


class Model(nn.Module):
    """Tokens → embedding → recurrent layers → logits."""

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
    """Our network for `Model`, with every bias drawn."""
    if model == "gru":
        return gru_network(7, [5, 5])
    net = ms.recurrent(7, [5, 5], model=model, init="glorot" if model == "lstm" else "ortho+ep", dtype="float64")
    for name, w in net.params.items():
        if name.endswith("b"):
            w += np.random.default_rng(3).normal(size=w.shape)  # no bias may be lost unnoticed
    return net
