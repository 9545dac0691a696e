"""LSUV, layer-sequential unit variance (Mishkin & Matas 2015).

Orthonormal weights; then, layer by layer, W is divided by the standard deviation of the logits of a data batch. The
biases stay zero, so the logits are linear in W, and one division does what needs rounds and a tolerance elsewhere.
"""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation
from minisig.initializers.draws import orthogonal
from minisig.initializers.inputs import Inputs, Target, Weights


def lsuv(
    sizes: Sequence[int], rngs: Sequence[Generator], inputs: Inputs, activation: Activation
) -> tuple[Weights, Target]:
    x = inputs.require_sample("lsuv")
    weights = []
    for n, m, rng in zip(sizes[:-1], sizes[1:], rngs, strict=True):
        W = orthogonal(n, m, rng)
        variance = (x @ W).var()
        if variance > 0:
            W /= np.sqrt(variance)
        weights.append((W, np.zeros(m)))
        x = activation.value(x @ W)
    return weights, Target(std=1.0)
