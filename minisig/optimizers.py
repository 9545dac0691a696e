"""Optimizers: momentum and Adam.

Each holds its slots by parameter name, {"dense0.W": {"v": …}}, and updates the parameters in place from factored
gradients. `scale` multiplies the gradient (clipping); `learning_rate` is given at every step (schedules).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from minisig.backends import Array, Backend
from minisig.gradients import Gradients


class Optimizer(Protocol):
    steps: int  # made so far
    slots: dict[str, dict[str, Array]]

    @property
    def slot_names(self) -> tuple[str, ...]:
        """What is remembered of every parameter."""

    @property
    def needs_matrices(self) -> bool:
        """Or makes do with factored gradients."""

    def update(
        self,
        params: Mapping[str, Array],
        gradients: Gradients,
        backend: Backend,
        *,
        learning_rate: float,
        scale: float | Array = 1.0,
    ) -> None:
        """One step downhill."""


@dataclass
class Momentum:
    """v ← μ v − η g,  w ← w + v.

    What is kept is u = v / μᵏ, where k counts the steps of a period: then u ← u − (η / μᵏ) g is, for a weight matrix
    with g = xᵀ dz, one matrix product that adds, and no pass over v is needed only to make it smaller. At the end of a
    period u is brought back to the size of v.
    """

    momentum: float = 0.9
    steps: int = 0
    slot_names = ("u",)
    needs_matrices = False
    slots: dict[str, dict[str, Array]] = field(default_factory=dict)

    def update(
        self,
        params: Mapping[str, Array],
        gradients: Gradients,
        backend: Backend,
        *,
        learning_rate: float,
        scale: float | Array = 1.0,
    ) -> None:
        self.steps += 1
        k = self.steps % self.period
        unit, kept = self.momentum**k, 1.0 if k else self.momentum**self.period
        alpha = -learning_rate / unit * scale  # once: on a device it is a kernel
        for name, g in gradients.items():
            w = params[name]
            if name not in self.slots:
                self.slots[name] = {"u": backend.xp.zeros_like(w)}
            u = self.slots[name]["u"]
            g.accumulate(u, alpha=alpha, beta=kept, backend=backend)
            backend.add(unit, u, w)

    @property
    def period(self) -> int:
        return 16 if self.momentum > 0.65 else 1  # within it u grows to a thousand times v at most


@dataclass
class Adam:
    """m ← β₁ m + (1−β₁) g,  v ← β₂ v + (1−β₂) g²,  w ← w − η m̂ / (√v̂ + ε), hats: corrected for the zero start.

    The corrections are scalars, m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ), and go into the step size and ε. So do the
    factors of g: what is kept is m / (1 − β₁) and v / (1 − β₂).
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    steps: int = 0
    slot_names = ("m", "v")
    needs_matrices = True
    slots: dict[str, dict[str, Array]] = field(default_factory=dict)

    def update(
        self,
        params: Mapping[str, Array],
        gradients: Gradients,
        backend: Backend,
        *,
        learning_rate: float,
        scale: float | Array = 1.0,
    ) -> None:
        self.steps += 1
        root = ((1 - self.beta2**self.steps) / (1 - self.beta2)) ** 0.5
        step = learning_rate * root * (1 - self.beta1) / (1 - self.beta1**self.steps)
        for name, gradient in gradients.items():
            w = params[name]
            if name not in self.slots:
                self.slots[name] = {"m": backend.xp.zeros_like(w), "v": backend.xp.zeros_like(w)}
            g, slot = gradient.dense(backend), self.slots[name]
            backend.adam(w, slot["m"], slot["v"], g, step, self.beta1, self.beta2, self.epsilon * root, scale)
