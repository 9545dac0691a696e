"""Recurrent layer of sigmoids (paper, eq. 5), unrolled over T steps.

    forward     1   z_t = x_t Wx + h_{t−1} Wh + b           (T, B, n) -> (T, B, H)
                2   h_t = g(z_t)
    backward        dh = dy
                2'  dz_t = dh_t · h_t (1 − h_t)
                1'  dh_{t−1} += dz_t Whᵀ
                    dx = dz Wxᵀ,  dWx = Σ_t x_tᵀ dz_t,  dWh = Σ_t h_{t−1}ᵀ dz_t,  db = Σ dz_t

What does not depend on the step before, the inputs' part of line 1 and all of the last line, is one large product
over time and batch. The state before the first step is ½ unless one is carried over; gradients stop there
(truncated BPTT).
"""

from typing import NamedTuple

from minisig.activations import Sigmoid
from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Outer, RowSum, rows
from minisig.layers.lookup import Lookup, Return, affine, affine_backward
from minisig.layers.recurrent import Recurrent


class Unrolled(NamedTuple):
    x: Array | Lookup  # (T, B, n)
    z: Array  # (T, B, H)
    h: Array  # (T + 1, B, H), the state before the first step and after each


class RNN(Recurrent):
    """h_t = g(x_t Wx + h_{t−1} Wh + b), (T, B, n) -> (T, B, H)."""

    activation = Sigmoid()

    def forward(self, x: Array | Lookup, backend: Backend, state: Array | None = None) -> tuple[Array, Unrolled]:
        Wx, Wh, b = self.params.values()
        z = affine(x, Wx, b, backend)
        h = backend.xp.empty((len(z) + 1, *z.shape[1:]), dtype=z.dtype)
        h[0] = Sigmoid.logistic.centre if state is None else state
        for t in range(len(z)):
            backend.gemm(1.0, h[t], Wh, 1.0, z[t])  # 1
            backend.sigmoid(z[t], out=h[t + 1])  # 2
        return h[1:], Unrolled(x, z, h)

    def backward(self, dy: Array, cache: Unrolled, backend: Backend) -> tuple[Array | Return, dict[str, Gradient]]:
        (x, z, h), (Wx, Wh, _) = cache, self.params.values()
        dz = backend.xp.empty_like(z)
        dh = dy.copy()
        WhT = backend.xp.ascontiguousarray(Wh.T)  # copied once, read at every step
        for t in reversed(range(len(z))):
            backend.sigmoid_backward(dh[t], h[t + 1], out=dz[t])  # 2'
            if t > 0:
                backend.gemm(1.0, dz[t], WhT, 1.0, dh[t - 1])  # 1'
        dx, dWx = affine_backward(dz, x, Wx, backend)
        return dx, {"Wx": dWx, "Wh": Outer(rows(h[:-1]), rows(dz)), "b": RowSum(rows(dz))}

    def last_state(self, cache: Unrolled) -> Array:
        return cache.h[-1]
