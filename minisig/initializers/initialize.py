"""The weights of a stack of dense layers by the name of an initializer."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation, require_activation
from minisig.errors import MinisigError, UsageError, require_known
from minisig.initializers.account import Account, account_for
from minisig.initializers.inputs import Inputs, Target, Weights, checked_sizes
from minisig.initializers.table import INITIALIZERS
from minisig.settings import brought, checked, with_settings_of


def initialize(
    init: str,
    sizes: Sequence[int],
    rng: int | Generator,
    inputs: Inputs | None,
    activation: Activation,
    **settings: Any,
) -> tuple[Weights, Account]:
    """Weights for layers sizes[0] → sizes[1] → …, each drawn from its own child of `rng`, and their account.

    Without inputs, mean 0 and variance 1 are assumed. The settings are those of the initializer.
    """
    require_known("init", init, INITIALIZERS)
    require_activation(activation)
    initializer = INITIALIZERS[init]
    own = brought(initializer, checked(settings, with_settings_of([(initializer, "Settings")])))
    sizes = checked_sizes(sizes)
    if len(sizes) < 2:
        raise UsageError(f"a network needs at least an input and an output size, got {sizes}")
    inputs = inputs or Inputs.standard(sizes[0])
    if inputs.mean.shape != (sizes[0],):
        raise UsageError(f"the network takes {sizes[0]} inputs, the data have {len(inputs.mean)}")
    rngs = np.random.default_rng(rng).spawn(len(sizes) - 1)
    result = initializer(sizes, rngs, inputs, activation, **own)
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
