"""What the recurrent layers have in common: parameters Wx (n, m), Wh (H, m) and b (m,), logits z_t and states h_t.

z_t = x_t Wx + h_{t−1} Wh + b           (T, B, n) -> (T, B, m), m = H for every gate

All that comes back to a state comes through the logits of the next step, ∂L/∂h_t = dy_t + dz_{t+1} Whᵀ.
"""

from collections.abc import Mapping
from typing import Any

from minisig.backends import Array
from minisig.gradients import Gradient, RowSum


class Recurrent:
    """A layer over time, (T, B, n) -> (T, B, H), that carries its state on; the cache of its forward holds z."""

    carries = True
    takes_lookups = True
    gates = 1

    def __init__(self, Wx: Array, Wh: Array, b: Array) -> None:
        self.params = {"Wx": Wx, "Wh": Wh, "b": b}

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

    def activation_gradient(self, dy: Array, dz: Array) -> Array:
        dh = dy.copy()
        dh[:-1] += dz[1:] @ self.params["Wh"].T
        return dh
