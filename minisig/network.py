"""A network: a stack of layers under a softmax cross-entropy.

data → forward through the layers → loss → backward through them → trace → optimizer
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.random import Generator

from minisig.backends import Array, Backend, get_backend
from minisig.diagnostics.trace import Trace
from minisig.errors import UsageError, require_known
from minisig.gradients import Gradient
from minisig.initializers import Account, Inputs, initialize
from minisig.layers import ACTIVATIONS, Dense, Dropout, Layer
from minisig.losses import softmax_cross_entropy


class Network:
    """Named layers on one backend. `account` says what the initializer did, if there was one."""

    def __init__(self, layers: Sequence[tuple[str, Layer]], backend: Backend, account: Account | None = None) -> None:
        self.layers = dict(layers)
        if len(self.layers) < len(layers):
            raise UsageError(f"layer names must differ, got {[name for name, _ in layers]}")
        self.backend = backend
        self.account = account

    @property
    def params(self) -> dict[str, Array]:
        """Every parameter by its full name, "dense0.W": the arrays themselves, to be updated in place."""
        return {f"{name}.{key}": value for name, layer in self.layers.items() for key, value in layer.params.items()}

    def load(self, params: dict[str, Array]) -> None:
        """Copy these values into the parameters of the same names; all must be there, no more and no less."""
        own = self.params
        if own.keys() != params.keys():
            raise UsageError(f"parameters {sorted(params)} do not fit a network with {sorted(own)}")
        for name, value in params.items():
            if own[name].shape != value.shape:
                raise UsageError(f"{name}: expected shape {own[name].shape}, got {value.shape}")
            own[name][...] = value

    def on(self, backend: Backend) -> "Network":
        """The same network with its parameters copied to another backend or dtype."""
        layers = []
        for name, layer in self.layers.items():
            twin = copy(layer)
            twin.params = {key: backend.asarray(self.backend.to_host(w)).copy() for key, w in layer.params.items()}
            layers.append((name, twin))
        return Network(layers, backend, self.account)

    def steps(self, x: Array, rng: Generator | None = None) -> Iterator[tuple[str, Array, Any]]:
        """(name, output, cache) of one layer after the other; `rng` draws dropout masks, None means evaluation."""
        for name, layer in self.layers.items():
            draws = (rng,) if getattr(layer, "draws", False) else ()
            x, cache = layer.forward(x, self.backend, *draws)
            yield name, x, cache

    def forward(self, x: Array, rng: Generator | None = None) -> Array:
        """Logits (B, C) for inputs x (B, n)."""
        z = self.backend.asarray(x)
        for _, output, _ in self.steps(z, rng):
            z = output
        return z

    def trace(self, x: Array, labels: Array, rng: Generator | None = None, *, input_gradient: bool = False) -> Trace:
        """One forward and one backward pass, with everything they computed."""
        x = self.backend.asarray(x)
        outputs, caches = {}, {}
        for name, output, cache in self.steps(x, rng):
            outputs[name], caches[name] = output, cache
        loss, delta = softmax_cross_entropy(output, labels, self.backend)

        deltas: dict[str, Array] = {}
        gradients: dict[str, Gradient] = {}
        first = next(iter(self.layers))
        for name, layer in reversed(self.layers.items()):
            deltas[name] = delta
            if name == first and not input_gradient and hasattr(layer, "gradients"):
                delta, own = None, layer.gradients(delta, caches[name], self.backend)
            else:
                delta, own = layer.backward(delta, caches[name], self.backend)
            gradients |= {f"{name}.{key}": g for key, g in own.items()}
        return Trace(
            loss=loss,
            x=x,
            dx=delta,
            outputs=outputs,
            deltas=dict(reversed(deltas.items())),
            gradients={name: gradients[name] for name in self.params},
            backend=self.backend,
        )


def mlp(
    sizes: Sequence[int],
    *,
    init: str = "random+ep",
    rng: int | Generator = 0,
    x: Any = None,
    activation: str = "sigmoid",
    dropout: float = 0.0,
    backend: str | Backend = "numpy",
    dtype: str = "float32",
) -> Network:
    """A multilayer perceptron sizes[0] → … → sizes[-1], with a softmax on its last layer's logits.

    x (N, sizes[0]) are training inputs from which the initialization takes means and variances; without them it
    assumes 0 and 1. Dropout, if any, acts on the hidden activities.

    >>> net = mlp([64, 100, 100, 10], init="random+ep", rng=0)
    >>> sum(w.size for w in net.params.values())
    17610
    """
    require_known("activation", activation, ACTIVATIONS)
    if isinstance(backend, str):
        backend = get_backend(backend, dtype)
    Activation = ACTIVATIONS[activation]
    inputs = Inputs.standard(sizes[0]) if x is None else Inputs.measured(np.asarray(x))
    weights, account = initialize(init, sizes, np.random.default_rng(rng), inputs, Activation())
    layers: list[tuple[str, Layer]] = []
    for i, (W, b) in enumerate(weights):
        layers.append((f"dense{i}", Dense(backend.asarray(W), backend.asarray(b))))
        if i < len(weights) - 1:
            layers.append((f"{activation.replace('-', '_')}{i}", Activation()))
            if dropout:
                layers.append((f"dropout{i}", Dropout(dropout)))
    return Network(layers, backend, account)
