"""A trace: what one forward and one backward pass returned, layer by layer. Diagnostics are functions of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minisig.backends import Array, Backend
from minisig.gradients import Gradients, RowSum


class Arrays(Mapping[str, Array]):
    """By layer name. What a layer passed on unmade (see layers/lookup.py) is made when somebody asks for it."""

    def __init__(self, passed_on: Iterable[tuple[str, Any]]) -> None:
        self._passed_on = dict(passed_on)

    def __getitem__(self, name: str) -> Array:
        value = self._passed_on[name]
        if hasattr(value, "array"):
            self._passed_on[name] = value = value.array()
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._passed_on)

    def __len__(self) -> int:
        return len(self._passed_on)


@dataclass(frozen=True)
class Trace:
    """Everything is by layer name, input first; gradients are by parameter name and factored."""

    layers: Mapping[str, Any]  # the network's own
    loss: Array  # scalar, on the device
    x: Array  # (B, n), or tokens (T, B): the network's input
    dx: Array | None  # ∂L/∂x; None if it was not asked for and costs something, and for tokens
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
        """∂L/∂z of the same, with all that comes back through time; of a layer whose bias gradient still knows it."""
        gradients: Mapping[str, Any] = self.gradients
        known = {name: z for name, z in self.logits().items() if isinstance(gradients[f"{name}.b"], RowSum)}
        return {name: gradients[f"{name}.b"].dz.reshape(z.shape) for name, z in known.items()}

    def activity_gradients(self) -> dict[str, Array]:
        """∂L/∂y of every activation and recurrent layer, there step by step with all that comes back in time.

        To be asked for before the parameters are updated: Wh brings it back.
        """
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
        """{'dense0.W': …, 'dense0.b': …, …}: Euclidean norm of every parameter's gradient."""
        norms = self.backend.floats([g.norm(self.backend) for g in self.gradients.values()])
        return dict(zip(self.gradients, norms, strict=True))

    def sample_norms(self) -> dict[str, Any]:
        """{'dense0.W': (B,), …}: norm of every parameter's gradient of each example's own loss.

        No gradient matrix is built for any example. The loss is a mean over the batch, hence the factor B.
        """
        samples = self.outputs[list(self.layers)[-1]].shape[-2]  # of logits (B, C) or (T, B, C)
        return {
            name: samples * self.backend.to_host(g.sample_norms(samples, self.backend))
            for name, g in self.gradients.items()
        }
