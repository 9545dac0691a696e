"""RMSprop (Hinton 2012): v ← ρ v + (1−ρ) g²,  w ← w − η g / (√v + ε)."""

from typing import Annotated, Any

import msgspec

from minisig import settings
from minisig.backends import Array, Backend
from minisig.gradients import Gradient
from minisig.optimizers.base import Optimizer


class RMSprop(Optimizer):
    """The gradient divided by the root of its running mean square."""

    slot_names = ("v",)
    needs_matrices = True

    class Settings(settings.Settings, frozen=True):
        rho: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.99
        epsilon: Annotated[float, msgspec.Meta(gt=0)] = 1e-8

    def __init__(self, rho: float = 0.99, epsilon: float = 1e-8) -> None:
        super().__init__()
        self.rho, self.epsilon = rho, epsilon

    def begin(self, learning_rate: float, scale: float | Array) -> tuple[Any, ...]:
        return learning_rate, self.rho, self.epsilon, scale

    def apply(self, w: Array, g: Gradient, slots: dict[str, Array], numbers: Any, backend: Backend) -> None:
        backend.rmsprop(w, slots["v"], g.dense(backend), *numbers)
