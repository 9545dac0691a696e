"""Gated recurrent unit (Cho et al. 2014), as PyTorch and cuDNN have it, unrolled over T steps.

    forward     1   z_t = x_t Wx + b,  a_t = h_{t−1} Wh         (T, B, n) -> (T, B, H); z_t and a_t are (B, 3H)
                2   r, u = g(z_r + a_r), g(z_u + a_u);  q = a_n + c
                3   ñ = tanh(z_n + r · q)
                4   h_t = (1 − u) · ñ + u · h_{t−1}
    backward        dh = dy
                4'  du = dh · (h_{t−1} − ñ);  dñ = dh · (1 − u);  dh_{t−1} += dh · u
                3'  dz_n = dñ · (1 − ñ²);  dr = dz_n · q;  da_n = dz_n · r
                2'  da_r = dz_r = dr · r (1 − r), likewise u
                1'  dh_{t−1} += da_t Whᵀ
                    dx = dz Wxᵀ,  dWx = Σ_t x_tᵀ dz_t,  dWh = Σ_t h_{t−1}ᵀ da_t,  db = Σ dz_t,  dc = Σ da_n

The gates stand in PyTorch's order r, u (its z), ñ (its n). The reset gate acts on the product with Wh and not on the
state, so that one product serves all three; within its reach is a bias, c. Lines 2 to 4 are one fused step of the
backend, which leaves the whole logits of the gates in z. Every dz is dh times something that needs no dh, which is made
for all steps at once. The state before the first step is 0 unless one is carried over; gradients stop there (truncated
BPTT).
"""

from typing import NamedTuple

import numpy as np

from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Outer, RowSum, rows
from minisig.layers.lookup import Lookup, Return, affine, affine_backward
from minisig.layers.recurrent import Recurrent


class Unrolled(NamedTuple):
    x: Array | Lookup  # (T, B, n)
    z: Array  # (T, B, 3H)
    gates: Array  # (T, B, 3H)
    q: Array  # (T, B, H)
    h: Array  # (T + 1, B, H), the state before the first step and after each


class GRU(Recurrent):
    """Reset and update gates around a state, (T, B, n) -> (T, B, H)."""

    gates = 3

    def __init__(self, Wx: Array, Wh: Array, b: Array, c: Array) -> None:
        super().__init__(Wx, Wh, b)
        self.params["c"] = c

    @classmethod
    def completed(cls, params: dict[str, Array]) -> dict[str, Array]:
        return super().completed(params) | {"c": np.zeros(len(params["Wh"]))}

    @classmethod
    def shapes(cls, n: int, H: int) -> dict[str, tuple[int, ...]]:
        return super().shapes(n, H) | {"c": (H,)}

    def forward(self, x: Array | Lookup, backend: Backend, state: Array | None = None) -> tuple[Array, Unrolled]:
        (T, B, _), (Wx, Wh, b, c), xp = x.shape, self.params.values(), backend.xp
        z = affine(x, Wx, b, backend)
        gates, a = xp.empty_like(z), xp.empty_like(z[0])
        q, h = (xp.empty((steps, B, len(Wh)), dtype=z.dtype) for steps in (T, T + 1))
        h[0] = 0.0 if state is None else state
        for t in range(T):
            backend.gemm(1.0, h[t], Wh, 0.0, a)  # 1
            backend.gru_gates(z[t], a, c, h[t], gates[t], q[t], h[t + 1])  # 2, 3, 4
        return h[1:], Unrolled(x, z, gates, q, h)

    def backward(self, dy: Array, cache: Unrolled, backend: Backend) -> tuple[Array | Return, dict[str, Gradient]]:
        (x, _, gates, q, h), (Wx, Wh, _, _) = cache, self.params.values()
        dz = backend.gru_slopes(gates, q, h[:-1])  # slopes yet; step by step they become ∂L/∂z
        da, dh = backend.xp.empty_like(dz), backend.xp.zeros_like(h)
        dh[1:] = dy
        WhT = backend.xp.ascontiguousarray(Wh.T)  # copied once, read at every step
        for t in reversed(range(len(dy))):
            backend.gru_gates_backward(dh[t + 1], gates[t], dz[t], da[t], dh[t])  # 4', 3', 2'
            if t > 0:
                backend.gemm(1.0, da[t], WhT, 1.0, dh[t])  # 1'
        dx, dWx = affine_backward(dz, x, Wx, backend)
        dq = rows(da)[:, 2 * len(Wh) :]
        return dx, {"Wx": dWx, "Wh": Outer(rows(h[:-1]), rows(da)), "b": RowSum(rows(dz)), "c": RowSum(dq)}

    def activation_gradient(self, dy: Array, dz: Array, cache: Unrolled) -> Array:
        """∂L/∂h_t = dy_t + ∂L/∂h_{t+1} · u_{t+1} + da_{t+1} Whᵀ, lines 4' and 1'."""
        H, dh, da = dy.shape[-1], dy.copy(), dz.copy()
        da[..., 2 * H :] *= cache.gates[..., :H]
        for t in reversed(range(len(dy) - 1)):
            dh[t] += dh[t + 1] * cache.gates[t + 1, :, H : 2 * H] + da[t + 1] @ self.params["Wh"].T
        return dh

    def last_state(self, cache: Unrolled) -> Array:
        return cache.h[-1]
