"""Softplus, y = ln(1 + e^z).

forward     y  = max(0, z) + ln(1 + e^−|z|)     any shape; nothing overflows
backward    dz = dy · g(z)                      g(z) = 1 / (1 + e^−z)
"""

from typing import Any

import numpy as np

from minisig.activations.base import Activation, special
from minisig.backends import Array


class Softplus(Activation):
    """y = ln(1 + e^z), of any shape."""

    steepest = 1.0

    def value(self, z: Array, xp: Any = np) -> Array:
        positive = z.real > 0
        return xp.where(positive, z, 0.0) + xp.log1p(xp.exp(xp.where(positive, -z, z)))

    def derivative(self, z: Array, xp: Any = np) -> Array:
        return special(xp).expit(z)
