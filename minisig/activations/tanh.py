"""Hyperbolic tangent, y = tanh z.

    forward     y  = tanh z             any shape
    backward    dz = dy · (1 − y²)

It is a logistic in disguise, y = 2 (g(2z) − ½).
"""

from typing import Any

import numpy as np

from minisig.activations.base import Logistic
from minisig.activations.logistic import LogisticActivation
from minisig.backends import Array, Backend
from minisig.gradients import Gradient


class Tanh(LogisticActivation):
    """y = tanh z, of any shape."""

    logistic = Logistic(slope=2.0, scale=2.0, centre=0.0)

    def value(self, z: Array, xp: Any = np) -> Array:
        return xp.tanh(z)

    def forward(self, z: Array, backend: Backend) -> tuple[Array, Array]:
        y = self.value(z, backend.xp)
        return y, y

    def backward(self, dy: Array, y: Array, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        dz = 1.0 - y * y
        dz *= dy
        return dz, {}
