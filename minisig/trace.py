"""A trace: what one forward and one backward pass returned, layer by layer. Diagnostics are functions of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minisig.activations import Activation
from minisig.backends import Array, Backend
from minisig.gradients import Gradients
from minisig.layers.lookup import made


class Arrays(Mapping[str, Array]):
    """By layer name. What a layer passed on unmade (see layers/lookup.py) is made when somebody asks for it."""

    def __init__(self, passed_on: Iterable[tuple[str, Any]]) -> None:
        self._passed_on = dict(passed_on)

    def __getitem__(self, name: str) -> Array:
        self._passed_on[name] = value = made(self._passed_on[name])
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
    outputs: Arrays  # of each layer: logits z of dense layers, activations y of sigmoids
    caches: dict[str, Any]  # what each layer's forward kept for its backward: a recurrent layer's logits and states
    states: dict[str, Any]  # of recurrent layers, after the last step
    deltas: Arrays  # ∂L/∂ of the outputs
    gradients: Gradients
    backend: Backend

    def logits(self) -> dict[str, Array]:
        """z of every layer that makes logits: (B, m), or (T, B, m) of a recurrent layer, step by step."""
        return {
            name: layer.logits(self.outputs[name], self.caches[name])
            for name, layer in self.layers.items()
            if hasattr(layer, "logits")
        }

    def logit_gradients(self) -> dict[str, Array]:
        """∂L/∂z of the same, with all that comes back through time; of a layer that still knows it."""
        found = {}
        for name, layer in self.layers.items():
            if hasattr(layer, "logit_gradient"):
                gradients = {key: self.gradients[f"{name}.{key}"] for key in layer.params}
                found[name] = layer.logit_gradient(self.deltas[name], self.caches[name], gradients)
        return {name: dz for name, dz in found.items() if dz is not None}

    def activation_gradients(self) -> dict[str, Array]:
        """∂L/∂y of every activation and recurrent layer, there step by step with all that comes back in time.

        To be asked for before the parameters are updated: the weights from state to state bring it back.
        """
        dz = self.logit_gradients()
        found = {}
        for name, layer in self.layers.items():
            if isinstance(layer, Activation):
                found[name] = self.deltas[name]
            elif name in dz and hasattr(layer, "activation_gradient"):
                found[name] = layer.activation_gradient(self.deltas[name], dz[name], self.caches[name])
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
