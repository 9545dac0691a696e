"""A trace: what one forward and one backward pass returned, layer by layer. Diagnostics are functions of it."""

from dataclasses import dataclass
from typing import Any

from minisig.backends import Array, Backend
from minisig.gradients import Gradients, gradient_norms


@dataclass(frozen=True)
class Trace:
    """Everything is by layer name, input first; gradients are by parameter name and factored."""

    loss: Array  # scalar, on the device
    x: Array  # (B, n), the network's input
    dx: Array | None  # (B, n), ∂L/∂x if it was asked for
    outputs: dict[str, Array]  # of each layer: logits z of dense layers, activities y of sigmoids
    caches: dict[str, Any]  # what each layer's forward kept for its backward: a recurrent layer's logits and states
    states: dict[str, Any]  # of recurrent layers, after the last step
    deltas: dict[str, Array]  # ∂L/∂ of the same
    gradients: Gradients
    backend: Backend

    def gradient_norms(self) -> dict[str, float]:
        """{'dense0.W': 1.31, …}: Euclidean norm of every parameter's gradient."""
        return gradient_norms(self.gradients, self.backend)
