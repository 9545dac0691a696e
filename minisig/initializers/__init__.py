"""Initializations: the weights and biases of a stack of dense layers, and an account of what they do.

    lecun glorot ortho          draws.py    weights from the layer's size alone, biases zero
    lsuv                        lsuv.py     orthonormal, then the logits of a data batch scaled to variance 1
    random+ep ortho+ep          ep.py       the paper's: logits at (0, √(π/2)), where H_B is largest
    random+exact ortho+exact    ep.py       the same at (0, 1.7488), where the true entropy is largest

    the same for recurrent networks: recurrent.py

ellipse.py projects weights to the nearest of a radius, inputs.py is what an initializer is told, account.py what it
did.

An initializer is a function (sizes, rngs, inputs, activation) -> ([(W, b), …], target); INITIALIZERS is their table,
to which anybody can add (see plugins.py).
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation, require_activation
from minisig.errors import MinisigError, UsageError, require_known
from minisig.initializers.account import Account, account_for
from minisig.initializers.draws import DRAWS, zero_bias
from minisig.initializers.ellipse import project
from minisig.initializers.ep import EP, ep
from minisig.initializers.inputs import Inputs, Target, Weights, checked_sizes
from minisig.initializers.lsuv import lsuv
from minisig.initializers.recurrent import RecurrentOptions, initialize_recurrent
from minisig.plugins import Table

Initializer = Callable[[Sequence[int], Sequence[Generator], Inputs, Activation], tuple[Weights, Target]]

INITIALIZERS: Table[Initializer] = Table(
    "initializers",
    {
        **{name: partial(ep, init=name) for name in EP},
        "lsuv": lsuv,
        **{name: partial(zero_bias, draw=draw) for name, draw in DRAWS.items()},
    },
)


def initialize(
    init: str, sizes: Sequence[int], rng: int | Generator, inputs: Inputs | None, activation: Activation
) -> tuple[Weights, Account]:
    """Weights for layers sizes[0] → sizes[1] → …, each drawn from its own child of `rng`, and their account.

    Without inputs, mean 0 and variance 1 are assumed.
    """
    require_known("init", init, INITIALIZERS)
    require_activation(activation)
    sizes = checked_sizes(sizes)
    if len(sizes) < 2:
        raise UsageError(f"a network needs at least an input and an output size, got {sizes}")
    inputs = inputs or Inputs.standard(sizes[0])
    if inputs.mean.shape != (sizes[0],):
        raise UsageError(f"the network takes {sizes[0]} inputs, the data have {len(inputs.mean)}")
    rngs = np.random.default_rng(rng).spawn(len(sizes) - 1)
    result = INITIALIZERS[init](sizes, rngs, inputs, activation)
    weights, target = _checked(init, result, sizes)
    return weights, account_for(init, weights, inputs, activation, target)


def _checked(init: str, result: Any, sizes: Sequence[int]) -> tuple[Weights, Target]:
    """What an initializer returned, which anybody may have written."""
    try:
        weights, target = result
        shapes = [(W.shape, b.shape) for W, b in weights]
    except (TypeError, ValueError, AttributeError):
        shapes, target = None, None
    if shapes != [((n, m), (m,)) for n, m in pairwise(sizes)] or not isinstance(target, Target):
        raise MinisigError(
            f"init '{init}': expected ([(W, b), …], Target) with a W (n, m) and a b (m,) for every layer of "
            f"{'→'.join(map(str, sizes))}, got {shapes or type(result).__name__}"
        )
    if not all(np.isfinite(a).all() for layer in weights for a in layer):
        raise MinisigError(f"init '{init}' gave weights or biases that are not finite")
    return weights, target


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
