"""LSUV, layer-sequential unit variance (Mishkin & Matas 2015).

Orthonormal weights; then, layer by layer, W is divided by the standard deviation of the logits of a data batch. The
biases stay zero, so the logits are linear in W, and one division does what needs rounds and a tolerance elsewhere.
Through the state of a recurrent layer they are not linear: there it takes rounds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation
from minisig.backends import get_backend
from minisig.initializers.draws import orthogonal
from minisig.initializers.inputs import Inputs, Matrix, Started, Target, Weights

TOLERANCE, MAX_ROUNDS = 0.02, 20


class LSUV:
    """Orthonormal weights, scaled until the logits of a sample have variance 1."""

    def __call__(
        self, sizes: Sequence[int], rngs: Sequence[Generator], inputs: Inputs, activation: Activation
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

    def suits(self, cell: Any) -> bool:
        """Whether one variance is that of all logits of the cell."""
        return bool(cell.gates == 1)

    def cell(self, cell: Any, inputs: Inputs, H: int, rngs: Sequence[Generator]) -> Started:
        """Wx and Wh scaled together."""
        x = inputs.require_sample("lsuv")
        params: dict[str, Matrix] = {"Wx": orthogonal(x.shape[-1], H, rngs[0]), "Wh": orthogonal(H, H, rngs[1])}
        backend = get_backend("numpy", "float64")
        for _ in range(MAX_ROUNDS):
            layer = cell(**cell.completed(params))
            variance = layer.logits(*layer.forward(x, backend)).var()
            if variance == 0 or abs(variance - 1) < TOLERANCE:
                break
            params = {name: W / np.sqrt(variance) for name, W in params.items()}
        return Started(params, Target(std=1.0))
