"""NumPy on the CPU.

Every matrix product of training goes through one BLAS, the one SciPy ships: it alone offers c ← α a b + β c, and
NumPy's own copy of OpenBLAS has a thread pool that would fight with the first.
"""

import ctypes
import sys
from collections.abc import Iterator
from functools import lru_cache
from math import hypot, inf
from typing import Any

import numpy as np
from scipy.linalg import blas

from minisig.backends.base import Array, Backend
from minisig.errors import UsageError

# Complex numbers are here for complex-step differentiation, see diagnostics.gradient_check.
GEMM = {"f": blas.sgemm, "d": blas.dgemm, "D": blas.zgemm}
GEMV = {"f": blas.sgemv, "d": blas.dgemv}
AXPY = {"f": blas.saxpy, "d": blas.daxpy}
NORM = {"f": blas.snrm2, "d": blas.dnrm2}
SYRK = {"f": blas.ssyrk, "d": blas.dsyrk}

IN_CACHE = 64 * 1024  # entries that stay there from one operation to the next
FLAT = 4  # a product with this many times fewer rows than its factor,
LARGE = 1024 * 1024  # and that factor with more entries than this, is stored by columns, see _room
FEW = 64  # rows of a table, up to which a product with ones and zeros is faster than sorting
FEW_CLASSES = 64  # up to which a softmax is faster column by column

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Let the process keep what it frees, up to 512 MB.

    Linux's C library returns large arrays to the system at once, and a training step that allocates the same ones again
    pays for every page of them.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 * 2**20)  # the most it takes
        mallopt(M_TRIM_THRESHOLD, 512 * 2**20)


class NumpyBackend(Backend):
    xp = np

    def __init__(self, dtype: str = "float32") -> None:
        _keep_freed_memory()
        super().__init__(dtype)

    def matmul(self, a: Array, b: Array) -> Array:
        c = _room(a, b)
        self.gemm(1.0, a, b, 0.0, c)
        return c

    def gemm(self, alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
        # BLAS counts in columns. If we store rows, it is handed cᵀ ← α bᵀ aᵀ + β cᵀ and copies nothing.
        if c.flags.c_contiguous:
            a, b, c = b.T, a.T, c.T
        elif not c.flags.f_contiguous:  # BLAS would fill a copy of c, and the result be lost
            raise UsageError(f"gemm writes into a contiguous array, got strides {c.strides} for {c.shape}")
        a, a_transposed = (a, False) if a.flags.f_contiguous else (a.T, True)
        b, b_transposed = (b, False) if b.flags.f_contiguous else (b.T, True)
        GEMM[c.dtype.char](alpha, a, b, beta, c, a_transposed, b_transposed, overwrite_c=True)

    def add(self, alpha: float, a: Array, into: Array) -> None:
        AXPY[a.dtype.char](_flat(a), _flat(into), a=alpha)

    def norm(self, a: Array) -> Array:
        return NORM[a.dtype.char](a.ravel(order="K")) if a.size else 0.0

    def gram_norm(self, x: Array, dz: Array) -> Array:
        # Both are brought to length one before they are squared: a vanishing gradient would underflow.
        x_size, dz_size = self.norm(x), self.norm(dz)
        if not 0 < x_size * dz_size < inf:
            return x_size * dz_size
        x, dz = x / x_size, dz / dz_size  # not times 1 / size, which may be beyond float32
        products = _gram(x) * _gram(dz)
        total = 2 * products.sum(dtype="float64") - products.trace(dtype="float64")
        # Rounding may leave a sum that vanishes below zero.
        return x_size * dz_size * abs(float(total)) ** 0.5

    def rows_norm(self, rows: Array, values: Array, count: int) -> Array:
        distinct, place = np.unique(rows, return_inverse=True)
        table = np.zeros((len(distinct), values.shape[1]), dtype=values.dtype)
        self.scatter_add(table, place, values)
        return self.norm(table)

    def clip_factor(self, norms: list[Array], most: float) -> Array:
        norm = hypot(*norms)
        return most / norm if norm > most else 1.0

    def row_sum(self, dz: Array) -> Array:
        columns, transposed = (dz, True) if dz.flags.f_contiguous else (dz.T, False)
        return GEMV[dz.dtype.char](1.0, columns, np.ones(len(dz), dtype=dz.dtype), trans=transposed)

    def add_row_sum(self, alpha: float, dz: Array, beta: float, into: Array) -> None:
        into *= beta
        into += alpha * self.row_sum(dz)

    def affine(self, x: Array, W: Array, b: Array) -> Array:
        z = _room(x, W)
        z[...] = b
        self.gemm(1.0, x, W, 1.0, z)
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
        B, H = c.shape
        scale, shift = _lstm_scales(B, H, z.dtype.char)
        np.multiply(z, scale, out=gates)
        np.tanh(gates, out=gates)
        gates *= scale
        gates += shift
        i, f, g, o = _by_gate(gates)
        np.multiply(f, c_prev, out=c)
        np.multiply(i, g, out=h)  # which is free until the last line
        c += h
        np.tanh(c, out=tanh_c)
        np.multiply(o, tanh_c, out=h)

    def lstm_slopes(self, gates: Array, c_prev: Array, tanh_c: Array) -> tuple[Array, Array]:
        i, _, g, o = _by_gate(gates)
        slopes = gates * (1 - gates)
        by_i, by_f, by_g, by_o = _by_gate(slopes)
        np.square(g, out=by_g)
        np.subtract(1, by_g, out=by_g)
        for slope, factor in ((by_i, g), (by_f, c_prev), (by_g, i), (by_o, tanh_c)):
            slope *= factor
        reach = np.square(tanh_c)
        np.subtract(1, reach, out=reach)
        reach *= o
        return slopes, reach

    def lstm_gates_backward(self, dh: Array, dc: Array, reach: Array, f: Array, dz: Array) -> None:
        B, H = dc.shape
        reach *= dh
        dc += reach
        gates = dz.reshape(B, 4, H)
        gates[:, :3] *= dc[:, None]
        gates[:, 3] *= dh
        dc *= f

    def softmax_cross_entropy(self, z: Array, labels: Array) -> tuple[Array, Array]:
        N, C = z.shape
        losses = np.empty(N, dtype=z.dtype)
        if C <= FEW_CLASSES:
            z = np.asfortranarray(z)
        dz = np.empty_like(z)
        for some in _pieces(N, C):
            p, rows = dz[some], np.arange(len(z[some]))
            np.subtract(z[some], z[some].real.max(axis=1, keepdims=True), out=p)
            target = p[rows, labels[some]]
            np.exp(p, out=p)
            total = p.sum(axis=1)
            losses[some] = np.log(total) - target
            p *= (1.0 / (N * total))[:, None]
            p[rows, labels[some]] -= 1.0 / N
        return losses, np.ascontiguousarray(dz)

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
        decay: float = 0.0,
    ) -> None:
        whole = [_flat(a) for a in (W, m, v, g)]
        for some in _pieces(W.size):
            W, m, v, g = (a[some] for a in whole)
            if scale != 1.0:
                g *= scale
            m *= beta1
            m += g
            np.square(g, out=g)
            v *= beta2
            v += g
            np.sqrt(v, out=g)
            g += epsilon
            np.divide(m, g, out=g)
            g *= step
            if decay:
                W *= 1.0 - decay
            W -= g

    def rmsprop(self, W: Array, v: Array, g: Array, step: float, rho: float, epsilon: float, scale: float) -> None:
        whole = [_flat(a) for a in (W, v, g)]
        for some in _pieces(W.size):
            W, v, g = (a[some] for a in whole)
            if scale != 1.0:
                g *= scale
            root = np.square(g)
            root *= 1.0 - rho
            v *= rho
            v += root
            np.sqrt(v, out=root)
            root += epsilon
            g /= root
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
        if len(into) <= FEW:
            chosen = np.equal(np.arange(len(into))[:, None], rows)
            self.gemm(1.0, chosen.astype(values.dtype), values, 1.0, into)
            return
        # Sums of equal rows, sorted together, then one addition for each: many times faster than np.add.at.
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        into[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0)


def _gram(x: Array) -> Array:
    """The upper half of x xᵀ with its diagonal: BLAS does half the work for a product that is symmetric."""
    columns, transposed = (x, False) if x.flags.f_contiguous else (x.T, True)
    return SYRK[x.dtype.char](1.0, columns, trans=transposed)


@lru_cache(maxsize=8)
def _starts(rows: int, B: int, columns: int, height: int, width: int) -> Array:
    """(rows, B, columns): where pixel (0, 0) of image b lies among those of B images, padded to this height, width."""
    starts = np.arange(B)[:, None] * (height * width) + width + 1
    return np.ascontiguousarray(np.broadcast_to(starts, (rows, B, columns)))


def _by_gate(a: Array) -> tuple[Array, Array, Array, Array]:
    """Views of the four parts of the last axis."""
    H = a.shape[-1] // 4
    return a[..., :H], a[..., H : 2 * H], a[..., 2 * H : 3 * H], a[..., 3 * H :]


@lru_cache(maxsize=8)
def _lstm_scales(B: int, H: int, dtype: str) -> tuple[Array, Array]:
    """(B, 4H): shift + scale · tanh(scale · z) is the sigmoid of z_i, z_f and z_o and the tanh of z_g."""
    scale = np.tile(np.repeat(np.array([0.5, 0.5, 1.0, 0.5], dtype=dtype), H), (B, 1))
    return scale, 1 - scale


def _pieces(n: int, width: int = 1) -> Iterator[slice]:
    """Slices of n rows of this width, each as many entries as stay in the cache."""
    size = max(1, IN_CACHE // width)
    return (slice(start, start + size) for start in range(0, n, size))


def _flat(a: Array) -> Array:
    """All entries in a row, to be written into; of another layout it would be a copy, and BLAS heeds no permission."""
    if not (a.flags.c_contiguous and a.flags.writeable):
        fault = f"strides {a.strides} for {a.shape}" if a.flags.writeable else "one that is read-only"
        raise UsageError(
            f"an update writes into a C-contiguous array of its own, got {fault}; make the parameters of your layer so "
            f"with np.array(…, order='C')"
        )
    return a.reshape(-1)


def _room(a: Array, b: Array) -> Array:
    """For a b. BLAS reads a large matrix faster, for a product with few rows, if that is stored by columns."""
    order: Any = "F" if FLAT * len(a) < min(b.shape) and b.size > LARGE else "C"
    return np.empty((len(a), b.shape[1]), dtype=np.result_type(a, b), order=order)
