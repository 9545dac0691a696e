"""What every backend can do, in plain array operations.

A backend of your own is a class with the array module that it stands for,

    class Mine(Backend):
        xp = some_module

any module with NumPy's functions, whose arrays can be written into. Override what it can do faster.
"""

from math import inf
from types import ModuleType
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray, or the array type of another backend


class Backend:
    """The array module and the few primitives that the layers, losses and optimizers are made of.

    Every array keeps the dtype it comes with; `dtype` is that of new parameters and inputs. `memory` is the most of the
    device's, in gigabytes, for those that can keep to it.

    >>> class Mine(Backend):
    ...     xp = np
    >>> Mine("float64").sigmoid(np.zeros(2))
    array([0.5, 0.5])
    """

    xp: ModuleType

    def __init__(self, dtype: str = "float32", memory: float | None = None) -> None:
        self.dtype: Any = np.dtype(dtype)

    def asarray(self, values: Any) -> Array:
        """Contiguous array of `dtype` on the device."""
        return self.xp.asarray(values, dtype=self.dtype, order="C")

    def to_host(self, values: Array) -> Any:
        """The same values as a numpy.ndarray."""
        return np.asarray(values)

    def within(self, indices: Array, count: int) -> bool:
        """Whether all are among 0 … count − 1; on a device always true, for a look at them would wait for it."""
        return not indices.size or bool(indices.min() >= 0 and indices.max() < count)

    def floats(self, scalars: list[Array]) -> list[float]:
        """Scalars from the device, all in one transfer."""
        return [float(value) for value in scalars]

    def matmul(self, a: Array, b: Array) -> Array:
        """a b"""
        return a @ b

    def gemm(self, alpha: float | Array, a: Array, b: Array, beta: float, c: Array) -> None:
        """c ← α a b + β c, in place."""
        product = alpha * (a @ b)
        c[...] = product + beta * c if beta else product  # with β = 0 nobody reads what is there

    def add(self, alpha: float, a: Array, into: Array) -> None:
        """into ← into + α a, in place."""
        into += alpha * a

    def norm(self, a: Array) -> Array:
        """Euclidean norm of all entries, a scalar on the device; squares neither overflow nor underflow."""
        if not a.size:
            return self.xp.zeros(())
        largest = self.xp.abs(a).max()
        unit = self.xp.where((largest > 0) & (largest < inf), largest, 1.0)
        return unit * self.xp.sqrt(self.xp.square(a / unit).sum(dtype="float64"))

    def gram_norm(self, x: Array, dz: Array) -> Array:
        """‖xᵀ dz‖_F from x xᵀ and dz dzᵀ, a scalar on the device."""
        # Both are brought to length one before they are squared: a vanishing gradient would underflow.
        x_size, dz_size = self.norm(x), self.norm(dz)
        if not 0 < x_size * dz_size < inf:
            return x_size * dz_size
        x, dz = x / x_size, dz / dz_size
        # Rounding may leave a sum that vanishes below zero.
        return x_size * dz_size * abs(((x @ x.T) * (dz @ dz.T)).sum()) ** 0.5

    def rows_norm(self, rows: Array, values: Array, count: int) -> Array:
        """The norm of a table of `count` rows to which scatter_add has added the values, a scalar on the device."""
        # The whole table: finding the rows that are there would take a sort, and a wait for its outcome.
        table = self.xp.zeros((count, values.shape[1]), dtype=values.dtype)
        self.scatter_add(table, rows, values)
        return self.norm(table)

    def clip_factor(self, norms: list[Array], most: float) -> float | Array:
        """What brings gradients of these norms, together, down to `most`; 1 if they are there. Not fetched either."""
        norm = self.norm(self.xp.stack(norms))
        return (most / self.xp.fmax(norm, most)).astype(self.dtype)  # 1 too of what is not a number

    def row_sum(self, dz: Array) -> Array:
        """Σ_rows dz, (m,) of dz (B, m)."""
        return dz.sum(axis=0)

    def add_row_sum(self, alpha: float | Array, dz: Array, beta: float, into: Array) -> None:
        """into ← α Σ_rows dz + β into, in place."""
        into *= beta
        into += alpha * self.row_sum(dz)

    def affine(self, x: Array, W: Array, b: Array) -> Array:
        """x W + b"""
        return x @ W + b

    def sigmoid(self, z: Array, out: Array | None = None) -> Array:
        """y = 1 / (1 + e^−z)"""
        # σ(z) = (1 + tanh(z/2)) / 2, which cannot overflow.
        return _into(out, 0.5 * (self.xp.tanh(0.5 * z) + 1.0))

    def sigmoid_backward(self, dy: Array, y: Array, out: Array | None = None) -> Array:
        """dz = dy · y (1 − y)"""
        return _into(out, dy * y * (1.0 - y))

    def lstm_gates(self, z: Array, c_prev: Array, gates: Array, c: Array, tanh_c: Array, h: Array) -> None:
        """One step of layers.lstm, lines 2 to 4: from logits z (B, 4H) fill gates, c, tanh_c and h."""
        xp = self.xp
        z_i, z_f, z_g, z_o = xp.split(z, 4, axis=-1)
        i, f, g, o = self.sigmoid(z_i), self.sigmoid(z_f), xp.tanh(z_g), self.sigmoid(z_o)
        gates[...] = xp.concatenate([i, f, g, o], axis=-1)
        c[...] = f * c_prev + i * g
        tanh_c[...] = xp.tanh(c)
        h[...] = o * tanh_c

    def lstm_slopes(self, gates: Array, c_prev: Array, tanh_c: Array) -> tuple[Array, Array]:
        """What of layers.lstm's backward needs no dh or dc, for all steps at once.

        (T, B, 4H), the derivatives of c by z_i, z_f and z_g and of h by z_o; and (T, B, H), that of h by c.
        """
        i, f, g, o = self.xp.split(gates, 4, axis=-1)
        slopes = [g * i * (1 - i), c_prev * f * (1 - f), i * (1 - g * g), tanh_c * o * (1 - o)]
        return self.xp.concatenate(slopes, axis=-1), o * (1 - tanh_c * tanh_c)

    def lstm_gates_backward(self, dh: Array, dc: Array, reach: Array, f: Array, dz: Array) -> None:
        """Lines 4' to 2' of one step with both of them at hand: its slopes dz become ∂L/∂z, dc becomes that of c_prev.

        reach is overwritten.
        """
        dc += dh * reach
        dz *= self.xp.concatenate([dc, dc, dc, dh], axis=-1)
        dc *= f

    def gru_gates(self, z: Array, a: Array, c: Array, h_prev: Array, gates: Array, q: Array, h: Array) -> None:
        """One step of layers.gru, lines 2 to 4: from z and a (B, 3H) fill gates, q and h; z becomes whole logits."""
        H = h.shape[1]
        q[...] = a[:, 2 * H :] + c
        z[:, : 2 * H] += a[:, : 2 * H]
        gates[:, : 2 * H] = ru = self.sigmoid(z[:, : 2 * H])
        z[:, 2 * H :] += ru[:, :H] * q
        gates[:, 2 * H :] = n = self.xp.tanh(z[:, 2 * H :])
        h[...] = n + ru[:, H:] * (h_prev - n)

    def gru_slopes(self, gates: Array, q: Array, h_prev: Array) -> Array:
        """What of layers.gru's backward needs no dh, for all steps at once: the derivatives of h by z, (T, B, 3H)."""
        r, u, n = self.xp.split(gates, 3, axis=-1)
        by_n = (1 - u) * (1 - n * n)
        return self.xp.concatenate([by_n * q * r * (1 - r), (h_prev - n) * u * (1 - u), by_n], axis=-1)

    def gru_gates_backward(self, dh: Array, gates: Array, dz: Array, da: Array, dh_prev: Array) -> None:
        """Lines 4' to 2' of one step: its slopes dz become ∂L/∂z, da is made of them, and dh · u added to dh_prev."""
        H = dh.shape[1]
        dz *= self.xp.concatenate([dh, dh, dh], axis=-1)
        da[...] = dz
        da[:, 2 * H :] *= gates[:, :H]
        dh_prev += dh * gates[:, H : 2 * H]

    def softmax_cross_entropy(self, z: Array, labels: Array) -> tuple[Array, Array]:
        """Loss of every row, (B,), and the gradient of their mean with respect to z, (B, C)."""
        rows = self.xp.arange(len(z))
        z = z - z.real.max(axis=1, keepdims=True)
        p = self.xp.exp(z)
        total = p.sum(axis=1, keepdims=True)
        losses = self.xp.log(total[:, 0]) - z[rows, labels]
        p /= total
        p[rows, labels] -= 1.0
        return losses, p / len(z)

    def sigmoid_cross_entropy(self, z: Array, targets: Array) -> tuple[Array, Array]:
        """Loss of every row, (B,), and the gradient of their mean with respect to z, (B, C), for targets t in [0, 1].

        Of a row Σ −t ln g(z) − (1 − t) ln(1 − g(z)) = Σ max(z, 0) − z t + ln(1 + e^−|z|), over its C outputs.
        """
        positive = self.xp.where(z.real > 0, z, 0)
        terms = positive - z * targets + self.xp.log1p(self.xp.exp(z - 2 * positive))  # z − 2 max(z, 0) = −|z|
        return terms.sum(axis=1), (self.sigmoid(z) - targets) / len(z)

    def squared_error(self, z: Array, targets: Array) -> tuple[Array, Array]:
        """Loss of every row, the mean of (z − t)² over its C outputs, and the gradient of their mean, (B, C)."""
        error = z - targets
        return (error * error).mean(axis=1), error * (2.0 / error.size)

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
        """g ← scale g,  m ← β₁m + g,  v ← β₂v + g²,  W ← (1 − decay) W − step · m / (√v + ε), in place.

        g may be used as scratch space.
        """
        g = scale * g
        m *= beta1
        m += g
        v *= beta2
        v += g * g
        if decay:
            W *= 1.0 - decay
        W -= step * m / (self.xp.sqrt(v) + epsilon)

    def rmsprop(
        self, W: Array, v: Array, g: Array, step: float, rho: float, epsilon: float, scale: float | Array
    ) -> None:
        """g ← scale g,  v ← ρ v + (1 − ρ) g²,  W ← W − step · g / (√v + ε), in place.

        g may be used as scratch space.
        """
        g = scale * g
        v *= rho
        v += (1.0 - rho) * g * g
        W -= step * g / (self.xp.sqrt(v) + epsilon)

    def bilinear(self, images: Array, at: Array, outside: float) -> Array:
        """(B, h′, w′) from images (B, h, w): pixel (i, j) of image b shows it at (row, column) at[:, i, b, j].

        at (2, h′, B, w′) is overwritten. Pixels are at whole positions; beyond the edge they all are `outside`.
        """
        xp, (B, height, width) = self.xp, images.shape
        # A margin of 1 before and 2 behind: no position needs to be looked at twice.
        padded = xp.pad(images, ((0, 0), (1, 2), (1, 2)), constant_values=outside)
        row, column = xp.clip(at[0], -1.0, height), xp.clip(at[1], -1.0, width)
        top, left = xp.floor(row), xp.floor(column)
        y, x = row - top, column - left
        b, i, j = xp.arange(B)[:, None], top.astype("int64") + 1, left.astype("int64") + 1
        above = padded[b, i, j] + x * (padded[b, i, j + 1] - padded[b, i, j])
        below = padded[b, i + 1, j] + x * (padded[b, i + 1, j + 1] - padded[b, i + 1, j])
        return (above + y * (below - above)).transpose(1, 0, 2)

    def scatter_add(self, into: Array, rows: Array, values: Array) -> None:
        """into[rows[i]] += values[i]; a row that occurs twice counts twice."""
        self.xp.add.at(into, rows, values)


def _into(out: Array | None, values: Array) -> Array:
    """The values, in `out` if there is one."""
    if out is None:
        return values
    out[...] = values
    return out
