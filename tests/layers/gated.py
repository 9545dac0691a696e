"""A network of GRUs made of arrays."""

from itertools import pairwise

import numpy as np

from minisig.backends import get_backend
from minisig.layers import GRU, Dense, Embedding
from minisig.network import Network


def gru(n, H, rng):
    """With every weight and bias drawn, so that none may be lost unnoticed."""
    shapes = (n, 3 * H), (H, 3 * H), (3 * H,), (H,)
    return GRU(*(rng.standard_normal(shape) / np.sqrt(H) for shape in shapes))


def gru_network(vocabulary, hidden, *, seed=1):
    """Tokens → embedding → GRUs of these sizes → logits over the vocabulary, in float64."""
    rng = np.random.default_rng(seed)
    layers = [("embedding", Embedding(rng.standard_normal((vocabulary, hidden[0]))))]
    layers += [(f"gru{i}", gru(n, H, rng)) for i, (n, H) in enumerate(pairwise([hidden[0], *hidden]))]
    layers.append(("dense", Dense(rng.standard_normal((hidden[-1], vocabulary)), rng.standard_normal(vocabulary))))
    return Network(layers, get_backend("numpy", "float64"))
