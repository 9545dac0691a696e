"""A network: a stack of layers under a loss, and the two kinds that have a builder.

data → forward through the layers → loss → backward through them → trace → optimizer
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation, get_activation
from minisig.backends import Array, Backend, get_backend
from minisig.checks import checked_inputs, checked_layers, require_fit, require_gradients
from minisig.errors import UsageError, require_known
from minisig.gradients import Gradient
from minisig.initializers import Account, Inputs, initialize, initialize_recurrent
from minisig.layers import CELLS, Dense, Dropout, Embedding, Layer
from minisig.layers.lookup import made
from minisig.losses import LOSSES, Loss, SoftmaxCrossEntropy
from minisig.trace import Arrays, Trace

States = dict[str, Any]  # of recurrent layers, by their names


class Network:
    """Named layers on one backend under a loss. `account` says what the initializer did, if there was one."""

    def __init__(
        self,
        layers: Mapping[str, Layer] | Iterable[tuple[str, Layer]],
        backend: Backend,
        account: Account | None = None,
        loss: Loss | None = None,
    ) -> None:
        self.layers = checked_layers(layers)
        self.backend = backend
        self.account = account
        self.loss = loss or SoftmaxCrossEntropy()

    @property
    def params(self) -> dict[str, Array]:
        """Every parameter by its full name, "dense0.W": the arrays themselves, to be updated in place."""
        return {f"{name}.{key}": w for name, layer in self.layers.items() for key, w in layer.params.items()}

    def __str__(self) -> str:
        """Layers, the shapes of their weights, and how many parameters each has.

        >>> print(mlp([64, 100, 10]))
        layer     weights  parameters
        dense0    64×100        6,500
        sigmoid0                    0
        dense1    100×10        1,010
        7,510 parameters, float32, softmax-cross-entropy
        """
        rows = [("layer", "weights", "parameters")]
        for name, layer in self.layers.items():
            shapes = ", ".join("×".join(map(str, w.shape)) for w in layer.params.values() if w.ndim > 1)
            rows.append((name, shapes, f"{sum(w.size for w in layer.params.values()):,}"))
        first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [f"{a.ljust(first)}  {b.ljust(second)}  {c.rjust(third)}" for a, b, c in rows]
        loss = next((name for name, row in LOSSES.rows.items() if row is type(self.loss)), type(self.loss).__name__)
        total = sum(w.size for w in self.params.values())
        return "\n".join([*lines, f"{total:,} parameters, {self.backend.dtype.name}, {loss}"])

    def load(self, params: dict[str, Array]) -> None:
        """Copy these values into the parameters of the same names; all must be there, no more and no less."""
        own = self.params
        if own.keys() != params.keys():
            raise UsageError(f"parameters {sorted(params)} do not fit a network with {sorted(own)}")
        values = {name: self.backend.xp.asarray(value) for name, value in params.items()}
        for name, value in values.items():
            if own[name].shape != value.shape:
                raise UsageError(f"{name}: expected shape {own[name].shape}, got {value.shape}")
            if value.dtype.kind not in "fiu":
                raise UsageError(f"{name}: expected real numbers, got {value.dtype}")
        with np.errstate(over="ignore"):  # of what is too large for float32
            for name, value in values.items():
                own[name][...] = value

    def on(self, backend: Backend) -> "Network":
        """The same network with its parameters copied to another backend or dtype."""
        layers = []
        for name, layer in self.layers.items():
            twin = copy(layer)
            twin.params = {key: backend.asarray(self.backend.to_host(w)).copy() for key, w in layer.params.items()}
            layers.append((name, twin))
        return Network(layers, backend, self.account, self.loss)

    def steps(
        self, x: Array, rng: Generator | None = None, states: States | None = None
    ) -> Iterator[tuple[str, Array, Any]]:
        """(name, output, cache) of one layer after the other.

        `rng` draws dropout masks, None means evaluation. `states` are the recurrent layers' at the end of the window
        before; a layer without one starts afresh.
        """
        last = next(reversed(self.layers))
        for name, layer in self.layers.items():
            extra = [rng] if getattr(layer, "draws", False) else []
            if getattr(layer, "carries", False):
                extra.append((states or {}).get(name))
            if not getattr(layer, "takes_lookups", False):
                x = made(x)
            require_fit(name, layer, x, (states or {}).get(name))
            x, cache = layer.forward(x, self.backend, *extra)
            if name == last:  # what a stack ends in are logits, even if nobody follows
                x = made(x)
            yield name, x, cache

    def advance(self, x: Array, states: States | None = None, rng: Generator | None = None) -> tuple[Array, States]:
        """Logits for inputs x, and the recurrent layers' states after the last step."""
        z = self.inputs(x)
        after: States = {}
        for name, output, cache in self.steps(z, rng, states):
            z = output
            after |= self._last_state(name, cache)
        return z, after

    def forward(self, x: Array) -> Array:
        """Logits (B, C) for inputs x (B, n), or (T, B, C) for tokens x (T, B) from a fresh start."""
        return self.advance(x)[0]

    def trace(
        self,
        x: Array,
        labels: Array,
        rng: Generator | None = None,
        states: States | None = None,
        *,
        input_gradient: bool = False,
    ) -> Trace:
        """One forward and one backward pass, with everything they computed.

        labels (B,) for inputs (B, n), or (T, B) for tokens (T, B), or what else the loss takes for targets.
        """
        x = self.inputs(x)
        outputs, caches = {}, {}
        after: States = {}
        for name, output, cache in self.steps(x, rng, states):
            outputs[name], caches[name] = output, cache
            after |= self._last_state(name, cache)
        loss, delta = self.loss(output, labels, self.backend)

        deltas: dict[str, Array] = {}
        gradients: dict[str, dict[str, Gradient]] = {}
        first = next(iter(self.layers))
        for name, layer in reversed(self.layers.items()):
            deltas[name] = delta
            if name == first and not input_gradient and hasattr(layer, "gradients"):
                delta, gradients[name] = None, layer.gradients(delta, caches[name], self.backend)
            else:
                delta, gradients[name] = layer.backward(delta, caches[name], self.backend)
            require_gradients(name, layer, gradients[name])
        return Trace(
            layers=self.layers,
            loss=loss,
            x=x,
            dx=delta,
            outputs=Arrays(outputs.items()),
            deltas=Arrays(reversed(deltas.items())),
            caches=caches,
            states=after,
            gradients={
                f"{name}.{key}": gradients[name][key] for name, layer in self.layers.items() for key in layer.params
            },
            backend=self.backend,
        )

    def inputs(self, x: Array) -> Array:
        """x as the first layer takes it: tokens as they are, anything else in the dtype of the backend."""
        name, first = next(iter(self.layers.items()))
        return checked_inputs(name, first, x, self.backend)

    def _last_state(self, name: str, cache: Any) -> States:
        layer: Any = self.layers[name]
        return {name: layer.last_state(cache)} if getattr(layer, "carries", False) else {}


def mlp(
    sizes: Sequence[int],
    *,
    init: str = "random+ep",
    rng: int | Generator = 0,
    x: Any = None,
    activation: str | Activation = "sigmoid",
    dropout: float = 0.0,
    loss: str | Loss = "softmax-cross-entropy",
    backend: str | Backend = "numpy",
    dtype: str = "float32",
    **settings: Any,
) -> Network:
    """A multilayer perceptron sizes[0] → … → sizes[-1] under a loss, a name in LOSSES or one of your own.

    x (N, sizes[0]) are training inputs from which the initialization takes means and variances, or what was measured
    of them, `Inputs`; without them it assumes 0 and 1. `activation` is a name in ACTIVATIONS or one of your own.
    Dropout, if any, acts on the hidden activations. `dtype` is for a backend that is asked for by its name; one that
    you have made has its own.

    >>> net = mlp([64, 100, 100, 10], init="random+ep", rng=0)
    >>> sum(w.size for w in net.params.values())
    17610
    """
    f = get_activation(activation)
    kind = (activation if isinstance(activation, str) else f.name).replace("-", "_")
    backend = get_backend(backend, dtype) if isinstance(backend, str) else backend
    inputs = x if x is None or isinstance(x, Inputs) else Inputs.measured(x)
    weights, account = initialize(init, sizes, np.random.default_rng(rng), inputs, f, **settings)
    layers: list[tuple[str, Layer]] = []
    for i, (W, b) in enumerate(weights):
        own = (backend.asarray(w).copy() for w in (W, b))  # and not what an initializer may have kept
        layers.append((f"dense{i}", Dense(*own)))
        if i < len(weights) - 1:
            layers.append((f"{kind}{i}", copy(f)))
            if dropout:
                layers.append((f"dropout{i}", Dropout(dropout)))
    if isinstance(loss, str):
        require_known("loss", loss, LOSSES)
        loss = LOSSES[loss]()
    return Network(layers, backend, account, loss)


def recurrent(
    vocabulary: int,
    hidden: Sequence[int],
    *,
    model: str = "rnn",
    init: str = "random+ep",
    rng: int | Generator = 0,
    tokens: Any = None,
    frequencies: Any = None,
    dropout: float = 0.0,
    backend: str | Backend = "numpy",
    dtype: str = "float32",
    **settings: Any,
) -> Network:
    """Tokens → embedding → recurrent layers of these sizes → logits over the vocabulary (paper, figure 9).

    `model` is "rnn" (sigmoids), "lstm", "gru" or another of CELLS. tokens (T, B) are a batch of training data, on which
    the initialization is tried; frequencies (vocabulary,) are how often each token comes, by default in that batch.
    Without either all are taken as equally frequent. Dropout acts on the non-recurrent connections. The settings are
    those of the initializer, such as radius=4.5, and of the cell, such as forget_bias=2.0.

    >>> net = recurrent(10, [100])
    >>> sum(w.size for w in net.params.values())
    22110
    """
    backend = get_backend(backend, dtype) if isinstance(backend, str) else backend
    weights, account = initialize_recurrent(
        init, model, vocabulary, hidden, np.random.default_rng(rng), tokens, frequencies, **settings
    )
    layers: list[tuple[str, Layer]] = []
    for name, params in weights.items():
        kind: Any = {"embedding": Embedding, "dense": Dense}.get(name, CELLS[model])
        if layers and dropout:
            layers.append((f"dropout{len(layers) // 2}", Dropout(dropout)))
        layers.append((name, kind(**{key: backend.asarray(w) for key, w in params.items()})))
    return Network(layers, backend, account)
