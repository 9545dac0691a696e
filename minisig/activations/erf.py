"""Error function, y = erf z.

forward     y  = 2/√π ∫₀^z e^−t² dt             any shape
backward    dz = dy · 2/√π e^−z²
"""

from math import pi, sqrt
from typing import Any

import numpy as np

from minisig.activations.base import Activation, special
from minisig.backends import Array

FAR = 40.0  # where f′ is 0 in float64, too


class Erf(Activation):
    """y = erf z, of any shape."""

    steepest = 2 / sqrt(pi)

    def value(self, z: Array, xp: Any = np) -> Array:
        return special(xp).erf(z)

    def derivative(self, z: Array, xp: Any = np) -> Array:
        # z² = s² + (z − s)(z + s) with few digits in s: its square is exact, that of z off by what counts far out.
        z = xp.clip(z, -FAR, FAR)
        s = xp.round(16.0 * z) / 16.0
        return self.steepest * xp.exp(-s * s) * xp.exp(-(z - s) * (z + s))
