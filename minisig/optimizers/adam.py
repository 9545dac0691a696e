"""Adam (Kingma & Ba 2015).

    m ← β₁ m + (1−β₁) g,  v ← β₂ v + (1−β₂) g²,  w ← w − η m̂ / (√v̂ + ε)        hats: corrected for the zero start

The corrections are scalars, m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ), and go into the step size and ε. So do the
factors of g: what is kept is m / (1 − β₁) and v / (1 − β₂).
"""

from typing import Annotated, Any

import msgspec

from minisig import settings
from minisig.backends import Array, Backend
from minisig.gradients import Gradient
from minisig.optimizers.base import Optimizer

Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class Adam(Optimizer):
    """Steps of about η, whatever the size of the gradient."""

    slot_names = ("m", "v")
    needs_matrices = True

    class Settings(settings.Settings, frozen=True):
        beta1: Share = 0.9
        beta2: Share = 0.999
        epsilon: Annotated[float, msgspec.Meta(gt=0)] = 1e-8

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> None:
        super().__init__()
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def begin(self, learning_rate: float, scale: float | Array) -> tuple[Any, ...]:
        root = ((1 - self.beta2**self.steps) / (1 - self.beta2)) ** 0.5
        step = learning_rate * root * (1 - self.beta1) / (1 - self.beta1**self.steps)
        return step, self.beta1, self.beta2, self.epsilon * root, scale

    def apply(self, w: Array, g: Gradient, slots: dict[str, Array], numbers: Any, backend: Backend) -> None:
        backend.adam(w, slots["m"], slots["v"], g.dense(backend), *numbers)
