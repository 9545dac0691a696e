"""Networks as one would write them in torch."""

from itertools import pairwise

from torch import nn


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
