"""Momentum, v ← μ v − η g,  w ← w + v.

What is kept is u = v / μᵏ, where k counts the steps of a period: then u ← u − (η / μᵏ) g is, for a weight matrix with
g = xᵀ dz, one matrix product that adds, and no pass over v is needed only to make it smaller. At the end of a period u
is brought back to the size of v.
"""

from typing import Annotated

import msgspec

from minisig import settings
from minisig.backends import Array, Backend
from minisig.gradients import Gradient
from minisig.optimizers.base import Optimizer

Numbers = tuple[float | Array, float, float]


class Momentum(Optimizer):
    """v ← μ v − η g,  w ← w + v."""

    slot_names = ("u",)

    class Settings(settings.Settings, frozen=True):
        momentum: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.9

    def __init__(self, momentum: float = 0.9) -> None:
        super().__init__()
        self.momentum = momentum

    @property
    def period(self) -> int:
        return 16 if self.momentum > 0.65 else 1  # within it u grows to a thousand times v at most

    def begin(self, learning_rate: float, scale: float | Array) -> Numbers:
        k = self.steps % self.period
        unit, kept = self.momentum**k, 1.0 if k else self.momentum**self.period
        return -learning_rate / unit * scale, unit, kept  # the first once: on a device it is a kernel

    def apply(self, w: Array, g: Gradient, slots: dict[str, Array], numbers: Numbers, backend: Backend) -> None:
        alpha, unit, kept = numbers
        g.accumulate(slots["u"], alpha=alpha, beta=kept, backend=backend)
        backend.add(unit, slots["u"], w)
