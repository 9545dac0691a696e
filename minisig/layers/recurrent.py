"""What a recurrent layer is: parameters Wx (n, m), Wh (H, m) and b (m,), logits z_t and states h_t.

z_t = x_t Wx + h_{t−1} Wh + b           (T, B, n) -> (T, B, m), m = H for every gate

Where the state acts through the logits alone, all that comes back to it comes through those of the next step,
∂L/∂h_t = dy_t + dz_{t+1} Whᵀ.

One of your own gives forward, backward and last_state, and says how many gates it has. It may have a class `Settings`
for what can be set about its biases, the keyword arguments of `completed`. In CELLS it is a model for `minisig train`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minisig.activations import Activation
from minisig.backends import Array, Backend
from minisig.gradients import Gradient, RowSum
from minisig.layers.lookup import Lookup, Return


class Recurrent:
    """A layer over time, (T, B, n) -> (T, B, H), that carries its state on; the cache of its forward holds z."""

    carries = True
    takes_lookups = True
    gates = 1

    def __init__(self, Wx: Array, Wh: Array, b: Array) -> None:
        self.params = {"Wx": Wx, "Wh": Wh, "b": b}

    def forward(self, x: Array | Lookup, backend: Backend, state: Any = None) -> tuple[Array, Any]:
        raise NotImplementedError

    def backward(self, dy: Array, cache: Any, backend: Backend) -> tuple[Array | Return, dict[str, Gradient]]:
        raise NotImplementedError

    def last_state(self, cache: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def completed(cls, params: dict[str, Array]) -> dict[str, Array]:
        """All parameters from Wx and Wh, and b if an initializer gives one; else it is 0."""
        return params if "b" in params else params | {"b": np.zeros(params["Wx"].shape[1])}

    @classmethod
    def shapes(cls, n: int, H: int) -> dict[str, tuple[int, ...]]:
        """Of the parameters, for n inputs and H units."""
        m = cls.gates * H
        return {"Wx": (n, m), "Wh": (H, m), "b": (m,)}

    @property
    def input_size(self) -> int:
        return len(self.params["Wx"])

    @property
    def state_size(self) -> int:
        return len(self.params["Wh"])

    def logits(self, y: Array, cache: Any) -> Array:
        return cache.z

    def logit_gradient(self, dy: Array, cache: Any, gradients: Mapping[str, Gradient]) -> Array | None:
        db = gradients["b"]
        return db.dz.reshape(cache.z.shape) if isinstance(db, RowSum) else None  # which still has its rows

    def activation_gradient(self, dy: Array, dz: Array, cache: Any) -> Array:
        dh = dy.copy()
        dh[:-1] += dz[1:] @ self.params["Wh"].T
        return dh


def state_activation(layer: Any) -> Activation | None:
    """f of a recurrent layer with states h_t = f(z_t) that tells its logits, else None."""
    f = getattr(layer, "activation", None)
    return f if isinstance(f, Activation) and hasattr(layer, "logits") else None
