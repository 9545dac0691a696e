"""CuPy on an NVIDIA GPU.

Whatever is more than one pass over memory is one kernel, see cupy_kernels.py. Matrix products are cuBLAS's, which
accumulates like BLAS. Nothing in a training step waits for the device: losses, norms and the factor of clipping stay
there as arrays of no axes, and cuBLAS takes its α from one.
"""

from typing import Any

import cupy as cp
import numpy as np
from cupy import cublas

from minisig.backends import cupy_kernels as kernels
from minisig.backends.base import Array, Backend
from minisig.errors import UsageError


class CupyBackend(Backend):
    xp = cp

    def __init__(self, dtype: str = "float32") -> None:
        super().__init__(dtype)
        self.ones: dict[tuple[int, str], Array] = {}
        self.factors: dict[tuple[float, str], Array] = {}

    def asarray(self, values: Any) -> Array:
        if isinstance(values, cp.ndarray):
            return cp.ascontiguousarray(values, dtype=self.dtype)
        return cp.asarray(np.asarray(values, dtype=self.dtype, order="C"))

    def to_host(self, values: Array) -> Any:
        return cp.asnumpy(values)

    def within(self, indices: Array, count: int) -> bool:
        return True

    def floats(self, scalars: list[Array]) -> list[float]:
        return [float(value) for value in cp.asnumpy(cp.stack(scalars))] if scalars else []

    def matmul(self, a: Array, b: Array) -> Array:
        c = cp.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
        self.gemm(1.0, a, b, 0.0, c)
        return c

    def gemm(self, alpha: float | Array, a: Array, b: Array, beta: float, c: Array) -> None:
        if not c.flags.c_contiguous:
            raise UsageError(f"gemm writes into a C-contiguous array, got strides {c.strides} for {c.shape}")
        if isinstance(alpha, cp.ndarray):  # then cuBLAS takes β from the device too: brought there once, not every time
            beta = self._on_device(beta, c.dtype)
        cublas.gemm("N", "N", a, b, out=c, alpha=alpha, beta=beta)

    def _on_device(self, factor: float, dtype: Any) -> Array:
        key = factor, dtype.char
        if key not in self.factors:
            self.factors[key] = cp.array(factor, dtype=dtype)
        return self.factors[key]

    def add(self, alpha: float, a: Array, into: Array) -> None:
        kernels.add(a, alpha, into)

    def norm(self, a: Array) -> Array:
        return kernels.norm_of_doubles(a) if a.dtype == np.float64 else kernels.norm(a)

    def gram_norm(self, x: Array, dz: Array) -> Array:
        x_size, dz_size = self.norm(x), self.norm(dz)
        x, dz = kernels.scaled(x, x_size), kernels.scaled(dz, dz_size)
        return x_size * dz_size * kernels.gram_norm(self.matmul(x, x.T), self.matmul(dz, dz.T))

    def clip_factor(self, norms: list[Array], most: float) -> Array:
        return kernels.clip_factor(kernels.norm_of_doubles(cp.stack(norms)), most, cp.empty((), dtype=self.dtype))

    def add_row_sum(self, alpha: float | Array, dz: Array, beta: float, into: Array) -> None:
        key = len(dz), dz.dtype.char
        if key not in self.ones:
            self.ones[key] = cp.ones((1, len(dz)), dtype=dz.dtype)
        self.gemm(alpha, self.ones[key], dz, beta, into[None])

    def affine(self, x: Array, W: Array, b: Array) -> Array:
        z = self.matmul(x, W)
        kernels.add_bias(b, z)
        return z

    def sigmoid(self, z: Array, out: Array | None = None) -> Array:
        return kernels.sigmoid(z) if out is None else kernels.sigmoid(z, out)

    def sigmoid_backward(self, dy: Array, y: Array, out: Array | None = None) -> Array:
        return kernels.sigmoid_backward(dy, y) if out is None else kernels.sigmoid_backward(dy, y, out)

    def lstm_gates(self, z: Array, c_prev: Array, gates: Array, c: Array, tanh_c: Array, h: Array) -> None:
        kernels.lstm(z, c_prev, c.shape[1], gates, c, tanh_c, h)

    def lstm_slopes(self, gates: Array, c_prev: Array, tanh_c: Array) -> tuple[Array, Array]:
        slopes, reach = cp.empty_like(gates), cp.empty_like(tanh_c)
        kernels.lstm_slopes(gates, c_prev, tanh_c, tanh_c.shape[-1], slopes, reach)
        return slopes, reach

    def lstm_gates_backward(self, dh: Array, dc: Array, reach: Array, f: Array, dz: Array) -> None:
        kernels.lstm_backward(dh, reach, f, dc.shape[1], dz, dc)

    def gru_gates(self, z: Array, a: Array, c: Array, h_prev: Array, gates: Array, q: Array, h: Array) -> None:
        kernels.gru(a, c, h_prev, h.shape[1], z, gates, q, h)

    def gru_slopes(self, gates: Array, q: Array, h_prev: Array) -> Array:
        slopes = cp.empty_like(gates)
        kernels.gru_slopes(gates, q, h_prev, q.shape[-1], slopes)
        return slopes

    def gru_gates_backward(self, dh: Array, gates: Array, dz: Array, da: Array, dh_prev: Array) -> None:
        kernels.gru_backward(dh, gates, dh.shape[1], dz, da, dh_prev)

    def softmax_cross_entropy(self, z: Array, labels: Array) -> tuple[Array, Array]:
        z, labels = cp.ascontiguousarray(z), cp.ascontiguousarray(labels, dtype=np.int64)  # as the kernel reads them
        rows, classes = z.shape
        losses, dz = cp.empty(rows, dtype=z.dtype), cp.empty_like(z)
        arguments = (z, labels, losses, dz, np.int32(rows), np.int32(classes))
        kernels.softmax[z.dtype.char]((rows,), (kernels.THREADS,), arguments)
        return losses, dz

    def sigmoid_cross_entropy(self, z: Array, targets: Array) -> tuple[Array, Array]:
        return _by_row(kernels.sigmoid_losses, z, targets)

    def squared_error(self, z: Array, targets: Array) -> tuple[Array, Array]:
        return _by_row(kernels.squared_losses, z, targets)

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
        scale: float | Array,
        decay: float = 0.0,
    ) -> None:
        if decay:
            kernels.adam_with_decay(g, scale, step, beta1, beta2, epsilon, decay, W, m, v)
        else:
            kernels.adam(g, scale, step, beta1, beta2, epsilon, W, m, v)

    def rmsprop(
        self, W: Array, v: Array, g: Array, step: float, rho: float, epsilon: float, scale: float | Array
    ) -> None:
        kernels.rmsprop(g, scale, step, rho, epsilon, W, v)

    def bilinear(self, images: Array, at: Array, outside: float) -> Array:
        B, height, width = images.shape
        rows, columns = at
        pixels = kernels.bilinear(images, rows, columns, B, at.shape[3], height, width, outside)
        return pixels.transpose(1, 0, 2)


def _by_row(by_dtype: dict[str, Any], z: Array, targets: Array) -> tuple[Array, Array]:
    z, targets = cp.ascontiguousarray(z), cp.ascontiguousarray(targets, dtype=z.dtype)  # as the kernels read them
    rows, outputs = z.shape
    losses, dz = cp.empty(rows, dtype=z.dtype), cp.empty_like(z)
    by_dtype[z.dtype.char]((rows,), (kernels.THREADS,), (z, targets, losses, dz, np.int32(rows), np.int32(outputs)))
    return losses, dz
