"""A trace: what one forward and one backward pass returned, layer by layer. Diagnostics are functions of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minisig.backends import Array, Backend
from minisig.gradients import Gradients, global_norm, gradient_norms


class Arrays(dict[str, Array]):
    """By layer name. What a layer passed on unmade (see layers/lookup.py) is made when somebody asks for it."""

    def __getitem__(self, name: str) -> Array:
        value = super().__getitem__(name)
        if hasattr(value, "array"):
            self[name] = value = value.array()
        return value

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        return [self[name] for name in self]


@dataclass(frozen=True)
class Trace:
    """Everything is by layer name, input first; gradients are by parameter name and factored."""

    layers: Mapping[str, Any]  # the network's own
    loss: Array  # scalar, on the device
    x: Array  # (B, n), the network's input
    dx: Array | None  # (B, n), ∂L/∂x if it was asked for
    outputs: Arrays  # of each layer: logits z of dense layers, activities y of sigmoids
    caches: dict[str, Any]  # what each layer's forward kept for its backward: a recurrent layer's logits and states
    states: dict[str, Any]  # of recurrent layers, after the last step
    deltas: Arrays  # ∂L/∂ of the outputs
    gradients: Gradients
    backend: Backend

    def logits(self) -> dict[str, Array]:
        """z of every layer that has weights and biases: (B, m), or (T, B, m) of a recurrent layer, step by step."""
        found = {}
        for name in self.layers:
            if f"{name}.b" in self.gradients:
                found[name] = getattr(self.caches[name], "z", self.outputs[name])
        return found

    def logit_gradients(self) -> dict[str, Array]:
        """∂L/∂z of the same, with all that comes back through time."""
        gradients: Mapping[str, Any] = self.gradients
        return {name: gradients[f"{name}.b"].dz.reshape(z.shape) for name, z in self.logits().items()}

    def activity_gradients(self) -> dict[str, Array]:
        """∂L/∂y of every activation and recurrent layer, there step by step with all that comes back in time."""
        dz = self.logit_gradients()
        found = {}
        for name, layer in self.layers.items():
            if "Wh" in layer.params:
                found[name] = self.deltas[name].copy()
                found[name][:-1] += dz[name][1:] @ layer.params["Wh"].T
            elif hasattr(layer, "slope"):
                found[name] = self.deltas[name]
        return found

    def gradient_norms(self) -> dict[str, float]:
        """{'dense0.W': 1.31, …}: Euclidean norm of every parameter's gradient."""
        return gradient_norms(self.gradients, self.backend)

    def sample_norms(self) -> dict[str, Any]:
        """{'dense0.W': (B,), …}: norm of every parameter's gradient of each example's own loss.

        No gradient matrix is built for any example. The loss is a mean over the batch, hence the factor B.
        """
        samples = self.x.shape[0] if self.x.ndim == 2 and self.x.dtype.kind == "f" else self.x.shape[1]
        return {
            name: samples * self.backend.to_host(g.sample_norms(samples, self.backend))
            for name, g in self.gradients.items()
        }

    def total_norm(self) -> float:
        """Norm of all gradients as one vector."""
        return global_norm(self.gradient_norms())
