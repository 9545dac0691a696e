"""Initializations: the weights and biases of a stack of dense layers, and an account of what they do.

    lecun glorot ortho          draws.py    weights from the layer's size alone, biases zero
    lsuv                        lsuv.py     orthonormal, then the logits of a data batch scaled to variance 1
    random+ep ortho+ep          ep.py       the paper's: logits at (0, √(π/2)), where H_B is largest
    random+exact ortho+exact    ep.py       the same at (0, 1.7488), where the true entropy is largest

    the same for recurrent networks: recurrent.py

An initializer is a function (sizes, rngs, inputs, activation) -> ([(W, b), …], target); INITIALIZERS is their table.
"""

from collections.abc import Callable, Sequence
from functools import partial

from numpy.random import Generator

from minisig.errors import UsageError, require_known
from minisig.initializers.account import Account, account_for
from minisig.initializers.draws import DRAWS, zero_bias
from minisig.initializers.ellipse import project
from minisig.initializers.ep import EP, ep
from minisig.initializers.inputs import Activation, Inputs, Target, Weights
from minisig.initializers.lsuv import lsuv
from minisig.initializers.recurrent import RecurrentOptions, initialize_recurrent

Initializer = Callable[[Sequence[int], Sequence[Generator], Inputs, Activation], tuple[Weights, Target]]

INITIALIZERS: dict[str, Initializer] = {
    **{name: partial(ep, draw=draw, radius=radius) for name, (draw, radius) in EP.items()},
    "lsuv": lsuv,
    **{name: partial(zero_bias, draw=draw) for name, draw in DRAWS.items()},
}


def initialize(
    init: str, sizes: Sequence[int], rng: Generator, inputs: Inputs, activation: Activation
) -> tuple[Weights, Account]:
    """Weights for layers sizes[0] → sizes[1] → …, each drawn from its own child of `rng`, and their account."""
    require_known("init", init, INITIALIZERS)
    if len(sizes) < 2 or min(sizes) < 1:
        raise UsageError(f"a network needs at least an input and an output size, all positive; got {list(sizes)}")
    if inputs.mean.shape != (sizes[0],):
        raise UsageError(f"the network takes {sizes[0]} inputs, the data have {len(inputs.mean)}")
    weights, target = INITIALIZERS[init](sizes, rng.spawn(len(sizes) - 1), inputs, activation)
    return weights, account_for(init, weights, inputs, activation, target)


__all__ = [
    "INITIALIZERS",
    "Account",
    "Initializer",
    "Inputs",
    "RecurrentOptions",
    "Target",
    "initialize",
    "initialize_recurrent",
    "project",
]
