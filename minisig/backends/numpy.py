"""NumPy on the CPU.

Every matrix product of training goes through one BLAS, the one SciPy ships: it alone offers c ← α a b + β c, and
NumPy's own copy of OpenBLAS would bring a second thread pool that fights with the first.
"""

from functools import lru_cache
from math import inf, sqrt
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg import blas

from minisig.backends import Array

# Complex numbers are here for complex-step differentiation, see diagnostics.gradient_check.
GEMM = {"f": blas.sgemm, "d": blas.dgemm, "D": blas.zgemm}

NORM = {"f": blas.snrm2, "d": blas.dnrm2, "D": blas.dznrm2}


class NumpyBackend:
    name = "numpy"
    xp: ModuleType = np
    images_at_a_time = 25  # whose intermediate results stay in the cache

    def __init__(self, dtype: str = "float32") -> None:
        self.dtype = np.dtype(dtype)

    def asarray(self, values: Any) -> Array:
        return np.asarray(values, dtype=self.dtype, order="C")

    def to_host(self, values: Array) -> Any:
        return np.asarray(values)

    def floats(self, scalars: list[Array]) -> list[float]:
        return [float(value) for value in scalars]

    def matmul(self, a: Array, b: Array) -> Array:
        c = np.empty((a.shape[0], b.shape[1]), dtype=np.result_type(a, b))
        self.gemm(1.0, a, b, 0.0, c)
        return c

    def gemm(self, alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
        # BLAS counts in columns and we store rows, so it is handed cᵀ ← α bᵀ aᵀ + β cᵀ and copies nothing.
        if not c.flags.c_contiguous:  # BLAS would fill a copy of c, and the result be lost
            raise ValueError(f"gemm writes into a C-contiguous array, got strides {c.strides} for {c.shape}")
        b_columns, b_transposed = _columns(b)
        a_columns, a_transposed = _columns(a)
        GEMM[c.dtype.char](alpha, b_columns, a_columns, beta, c.T, b_transposed, a_transposed, overwrite_c=True)

    def norm(self, a: Array) -> Array:
        return NORM[a.dtype.char](a.reshape(-1)) if a.size else 0.0

    def gram_norm(self, x: Array, dz: Array) -> Array:
        # Both are brought to length one before they are squared: a vanishing gradient would underflow.
        x_size, dz_size = self.norm(x), self.norm(dz)
        if not 0 < x_size * dz_size < inf:
            return x_size * dz_size
        x, dz = x / x_size, dz / dz_size  # not times 1 / size, which may be beyond float32
        products = self.matmul(x, x.T) * self.matmul(dz, dz.T)
        # Rounding may leave a sum that vanishes below zero.
        return x_size * dz_size * abs(float(products.sum(dtype="float64"))) ** 0.5

    def rows_norm(self, rows: Array, values: Array, count: int) -> Array:
        distinct, place = np.unique(rows, return_inverse=True)
        table = np.zeros((len(distinct), values.shape[1]), dtype=values.dtype)
        self.scatter_add(table, place, values)
        return self.norm(table)

    def clip_factor(self, norms: list[Array], most: float) -> Array:
        norm = sqrt(sum(inf if norm >= 1e150 else norm**2 for norm in norms))  # a float's own power would raise
        return most / norm if norm > most else 1.0

    def add_row_sum(self, alpha: float, dz: Array, beta: float, into: Array) -> None:
        into *= beta
        into += alpha * dz.sum(axis=0)

    def affine(self, x: Array, W: Array, b: Array) -> Array:
        z = self.matmul(x, W)
        z += b
        return z

    def sigmoid(self, z: Array, out: Array | None = None) -> Array:
        # σ(z) = (1 + tanh(z/2)) / 2: NumPy's tanh is SIMD code, and it cannot overflow.
        y = np.multiply(z, 0.5, out=out)
        np.tanh(y, out=y)
        y += 1.0
        y *= 0.5
        return y

    def sigmoid_backward(self, dy: Array, y: Array, out: Array | None = None) -> Array:
        dz = np.subtract(1.0, y, out=out)
        dz *= y
        dz *= dy
        return dz

    def lstm_gates(self, z: Array, c_prev: Array, gates: Array, c: Array, tanh_c: Array, h: Array) -> None:
        H = c.shape[1]
        i, f, g, o = (gates[:, k * H : (k + 1) * H] for k in range(4))
        self.sigmoid(z, out=gates)
        np.tanh(z[:, 2 * H : 3 * H], out=g)
        np.multiply(f, c_prev, out=c)
        c += i * g
        np.tanh(c, out=tanh_c)
        np.multiply(o, tanh_c, out=h)

    def lstm_gates_backward(self, dh: Array, dc: Array, gates: Array, c_prev: Array, tanh_c: Array, dz: Array) -> Array:
        H = dc.shape[1]
        i, f, g, o = (gates[:, k * H : (k + 1) * H] for k in range(4))
        di, df, dg, do = (dz[:, k * H : (k + 1) * H] for k in range(4))
        dc += dh * o * (1 - tanh_c * tanh_c)
        np.multiply(dc, g, out=di)
        np.multiply(dc, c_prev, out=df)
        np.multiply(dh, tanh_c, out=do)
        slope = gates * (1 - gates)
        slope[:, 2 * H : 3 * H] = 1 - g * g
        np.multiply(dc, i, out=dg)
        dz *= slope
        return dc * f

    def softmax_cross_entropy(self, z: Array, labels: Array) -> tuple[Array, Array]:
        rows = np.arange(len(z))
        p = z - z.real.max(axis=1, keepdims=True)
        target = p[rows, labels]
        np.exp(p, out=p)
        total = p.sum(axis=1, keepdims=True)
        losses = np.log(total[:, 0]) - target
        p /= total
        p[rows, labels] -= 1.0
        p *= 1.0 / len(z)
        return losses, p

    def adam(
        self,
        W: Array,
        m: Array,
        v: Array,
        g: Array,
        step: float,
        beta1: float,
        beta2: float,
        epsilon: float,
        scale: float,
    ) -> None:
        if scale != 1.0:
            g *= scale
        m *= beta1
        m += (1.0 - beta1) * g
        np.square(g, out=g)
        v *= beta2
        g *= 1.0 - beta2
        v += g
        np.sqrt(v, out=g)
        g += epsilon
        np.divide(m, g, out=g)
        g *= step
        W -= g

    def bilinear(self, images: Array, at: Array, outside: float) -> Array:
        B, height, width = images.shape
        side = width + 3  # a margin of 1 before and 2 behind: no position needs to be looked at twice
        padded = np.full((B, height + 3, side), outside, dtype=images.dtype)
        padded[:, 1 : height + 1, 1 : width + 1] = images
        np.clip(at[0], -1.0, height, out=at[0])
        np.clip(at[1], -1.0, width, out=at[1])
        corner = np.floor(at)
        at -= corner
        corner[0] *= side
        corner[0] += corner[1]
        index = corner[0].astype(np.intp)
        index += _starts(at.shape[1], B, at.shape[3], height + 3, side)
        # With p the pixel above and to the left of a position: p + x p_x + y (p_y + x p_xy), all differences to the
        # next pixel, taken once for the images and not for every position.
        p = padded.reshape(-1)
        p_x = p[1:] - p[:-1]
        p_y = p[side:] - p[:-side]
        p_xy = p_x[side:] - p_x[:-side]
        y, x = at
        value, slope = p_x.take(index, mode="clip"), p_xy.take(index, mode="clip")
        value *= x
        value += p.take(index, mode="clip")
        slope *= x
        slope += p_y.take(index, mode="clip")
        slope *= y
        value += slope
        return value.transpose(1, 0, 2)

    def scatter_add(self, into: Array, rows: Array, values: Array) -> None:
        # Sums of equal rows, sorted together, then one addition for each: many times faster than np.add.at.
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        into[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0)


@lru_cache(maxsize=8)
def _starts(rows: int, B: int, columns: int, height: int, width: int) -> Array:
    """(rows, B, columns): where pixel (0, 0) of image b lies among those of B images, padded to this height, width."""
    starts = np.arange(B)[:, None] * (height * width) + width + 1
    return np.ascontiguousarray(np.broadcast_to(starts, (rows, B, columns)))


def _columns(a: Array) -> tuple[Array, bool]:
    """(view, transposed): a column-major view from which BLAS reads aᵀ, transposing it if told so."""
    return (a.T, False) if a.flags.c_contiguous else (a, True)
