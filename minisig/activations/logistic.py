"""Logistics in disguise, y = centre + scale · (g(slope · z) − ½): the theory of the sigmoid neuron covers them.

f′(z) = slope · scale · g(u) g(−u),  u = slope · z          at most slope · scale / 4, at z = 0

g(u) g(−u) is g′(u) to full relative precision: the form y (1 − y) is 0 in float32 at u = 17.
"""

from typing import Any

import numpy as np

from minisig.activations.base import Activation, Logistic, special
from minisig.backends import Array


class LogisticActivation(Activation):
    """y = centre + scale · (g(slope · z) − ½), of any shape."""

    logistic: Logistic

    @property
    def steepest(self) -> float:
        return self.logistic.slope * self.logistic.scale / 4

    def value(self, z: Array, xp: Any = np) -> Array:
        u = self.logistic.slope * z
        g = 0.5 * (1.0 + xp.tanh(0.5 * u)) if u.dtype.kind == "c" else special(xp).expit(u)
        return self.logistic.centre + self.logistic.scale * (g - 0.5)

    def derivative(self, z: Array, xp: Any = np) -> Array:
        u, g = self.logistic.slope * z, special(xp).expit
        return self.logistic.slope * self.logistic.scale * (g(u) * g(-u))
