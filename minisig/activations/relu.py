"""Rectifier, y = max(0, z).

forward     y  = z where z > 0, else 0          any shape
backward    dz = dy where z > 0, else 0
"""

from typing import Any

import numpy as np

from minisig.activations.base import Activation
from minisig.backends import Array


class ReLU(Activation):
    """y = max(0, z), of any shape; at 0 its derivative is taken as 0."""

    steepest = 1.0

    def value(self, z: Array, xp: Any = np) -> Array:
        return xp.where(z.real <= 0, 0.0, z)  # what is not a number stays so

    def derivative(self, z: Array, xp: Any = np) -> Array:
        return (z > 0).astype(z.dtype)
