"""Long short-term memory (Hochreiter & Schmidhuber 1997, with forget gates), unrolled over T steps.

    forward     1   z_t = x_t Wx + h_{t−1} Wh + b           (T, B, n) -> (T, B, H); z_t is (B, 4H)
                2   i, f, o = g(z_i), g(z_f), g(z_o);  g̃ = tanh(z_g)
                3   c_t = f · c_{t−1} + i · g̃
                4   h_t = o · tanh(c_t)
    backward        dh = dy,  dc = 0
                4'  do = dh · tanh(c_t);  dc += dh · o (1 − tanh²(c_t))
                3'  df = dc · c_{t−1};  di = dc · g̃;  dg̃ = dc · i;  dc_prev = dc · f
                2'  dz_i = di · i (1 − i), likewise f and o;  dz_g = dg̃ · (1 − g̃²)
                1'  dh_{t−1} += dz_t Whᵀ
                    dx = dz Wxᵀ,  dWx = Σ_t x_tᵀ dz_t,  dWh = Σ_t h_{t−1}ᵀ dz_t,  db = Σ dz_t

The gates stand in the order i, f, g̃, o. Lines 2 to 4 are one fused step of the backend. What lines 4' to 2' multiply dh
and dc with is made for all steps at once, and is turned into dz step by step. The state (h, c) before the first step is
0 unless one is carried over; gradients stop there (truncated BPTT).
"""

from typing import Annotated, NamedTuple

import msgspec

from minisig import settings
from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Outer, RowSum, rows
from minisig.layers.lookup import Lookup, Return, affine, affine_backward
from minisig.layers.recurrent import Recurrent


class Unrolled(NamedTuple):
    x: Array | Lookup  # (T, B, n)
    z: Array  # (T, B, 4H)
    gates: Array  # (T, B, 4H)
    c: Array  # (T + 1, B, H), before the first step and after each
    tanh_c: Array  # (T, B, H)
    h: Array  # (T + 1, B, H)


class LSTM(Recurrent):
    """Input, forget and output gates around a cell, (T, B, n) -> (T, B, H)."""

    gates = 4

    class Settings(settings.Settings, frozen=True):
        forget_bias: Annotated[float, msgspec.Meta(ge=-1e3, le=1e3)] = 1.0

    @classmethod
    def completed(cls, params: dict[str, Array], forget_bias: float = 1.0) -> dict[str, Array]:
        params, H = super().completed(params), len(params["Wh"])
        params["b"][H : 2 * H] = forget_bias
        return params

    def forward(
        self, x: Array | Lookup, backend: Backend, state: tuple[Array, Array] | None = None
    ) -> tuple[Array, Unrolled]:
        (T, B, _), (Wx, Wh, b), xp = x.shape, self.params.values(), backend.xp
        z = affine(x, Wx, b, backend)
        gates, tanh_c = xp.empty_like(z), xp.empty((T, B, len(Wh)), dtype=z.dtype)
        h, c = (xp.empty((T + 1, B, len(Wh)), dtype=z.dtype) for _ in range(2))
        h[0], c[0] = (0.0, 0.0) if state is None else state
        for t in range(T):
            backend.gemm(1.0, h[t], Wh, 1.0, z[t])  # 1
            backend.lstm_gates(z[t], c[t], gates[t], c[t + 1], tanh_c[t], h[t + 1])  # 2, 3, 4
        return h[1:], Unrolled(x, z, gates, c, tanh_c, h)

    def backward(self, dy: Array, cache: Unrolled, backend: Backend) -> tuple[Array | Return, dict[str, Gradient]]:
        (x, _, gates, c, tanh_c, h), (Wx, Wh, _) = cache, self.params.values()
        dz, reach = backend.lstm_slopes(gates, c[:-1], tanh_c)  # slopes yet; step by step they become ∂L/∂z
        f = gates[..., len(Wh) : 2 * len(Wh)]
        dh, dc = dy.copy(), backend.xp.zeros_like(dy[-1])
        WhT = backend.xp.ascontiguousarray(Wh.T)  # copied once, read at every step
        for t in reversed(range(len(dy))):
            backend.lstm_gates_backward(dh[t], dc, reach[t], f[t], dz[t])  # 4', 3', 2'
            if t > 0:
                backend.gemm(1.0, dz[t], WhT, 1.0, dh[t - 1])  # 1'
        dx, dWx = affine_backward(dz, x, Wx, backend)
        return dx, {"Wx": dWx, "Wh": Outer(rows(h[:-1]), rows(dz)), "b": RowSum(rows(dz))}

    def last_state(self, cache: Unrolled) -> tuple[Array, Array]:
        return cache.h[-1], cache.c[-1]
