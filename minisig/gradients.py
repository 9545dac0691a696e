"""Parameter gradients, kept factored until somebody needs the matrix.

A dense layer's gradient is dW = xᵀ dz with x (B, n) and dz (B, m). From the pair alone come

    its norm        ‖xᵀ dz‖²_F = ⟨x xᵀ, dz dzᵀ⟩, two B×B matrices instead of one n×m
    its momentum    v ← μ v − η xᵀ dz, one matrix product that accumulates, no gradient buffer at all

Clipping wants both: there a matrix that stays in the cache is made once, see `evaluated`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import hypot
from typing import Protocol

from minisig.backends import Array, Backend
from minisig.errors import UsageError

SMALL = 64 * 1024  # entries, up to which a matrix is made and read again faster than one does without it


class Gradient(Protocol):
    """What a layer's backward returns for each of its parameters."""

    def dense(self, backend: Backend) -> Array:
        """The gradient as an array of the parameter's shape, which the caller may overwrite."""

    def accumulate(self, into: Array, alpha: float | Array, beta: float, backend: Backend) -> None:
        """into ← α·gradient + β·into"""

    def norm(self, backend: Backend) -> Array:
        """Euclidean norm of all entries, as a scalar on the device."""

    def sample_norms(self, samples: int, backend: Backend) -> Array:
        """(samples,): norms of what each example of the batch adds to the gradient, all its time steps together."""


@dataclass(frozen=True)
class Outer:
    """xᵀ dz, the gradient of a weight matrix."""

    x: Array  # (B, n)
    dz: Array  # (B, m)

    def dense(self, backend: Backend) -> Array:
        dW = backend.xp.empty((self.x.shape[1], self.dz.shape[1]), dtype=self.dz.dtype)  # by rows, as W is
        self.accumulate(dW, 1.0, 0.0, backend)
        return dW

    def accumulate(self, into: Array, alpha: float | Array, beta: float, backend: Backend) -> None:
        backend.gemm(alpha, self.x.T, self.dz, beta, into)

    def norm(self, backend: Backend) -> Array:
        (B, n), m = self.x.shape, self.dz.shape[1]
        if B * (n + m) > 2 * n * m:  # a long batch: the matrix, with a pass over it, costs less
            return backend.norm(self.dense(backend))
        return backend.gram_norm(self.x, self.dz)

    def sample_norms(self, samples: int, backend: Backend) -> Array:
        # Rows are time-major, row t·B + b. ‖Σ_t x_tᵀ dz_t‖² = Σ_{s,t} (x_s·x_t)(dz_s·dz_t): no n×m matrix an example.
        x, dz = (_by_sample(a, samples) for a in (self.x, self.dz))
        if x.shape[1] == 1:
            return backend.xp.sqrt((x * x).sum(axis=(1, 2)) * (dz * dz).sum(axis=(1, 2)))
        products = (x @ x.swapaxes(1, 2)) * (dz @ dz.swapaxes(1, 2))
        return backend.xp.sqrt(abs(products.sum(axis=(1, 2))))


@dataclass(frozen=True)
class Summed(Outer):
    """xᵀ dz whose rows are sums over examples; `whole` makes the same gradient with a row for each of them."""

    whole: Callable[[], "Gradient"]

    def sample_norms(self, samples: int, backend: Backend) -> Array:
        return self.whole().sample_norms(samples, backend)


@dataclass(frozen=True)
class RowSum:
    """Σ_batch dz, the gradient of a bias."""

    dz: Array  # (B, m)

    def dense(self, backend: Backend) -> Array:
        return backend.row_sum(self.dz)

    def accumulate(self, into: Array, alpha: float | Array, beta: float, backend: Backend) -> None:
        backend.add_row_sum(alpha, self.dz, beta, into)

    def norm(self, backend: Backend) -> Array:
        return backend.norm(self.dense(backend))

    def sample_norms(self, samples: int, backend: Backend) -> Array:
        total = _by_sample(self.dz, samples).sum(axis=1)
        return backend.xp.sqrt((total * total).sum(axis=1))


@dataclass(frozen=True)
class Rows:
    """Gradient of an embedding: row rows[i] of the table gets values[i]; no V×n matrix until somebody asks for one."""

    rows: Array  # (N,), tokens; one may occur many times
    values: Array  # (N, n)
    count: int  # V, rows of the whole table

    def dense(self, backend: Backend) -> Array:
        table = backend.xp.zeros((self.count, self.values.shape[1]), dtype=self.values.dtype)
        backend.scatter_add(table, self.rows, self.values)
        return table

    def accumulate(self, into: Array, alpha: float | Array, beta: float, backend: Backend) -> None:
        into *= beta
        backend.scatter_add(into, self.rows, alpha * self.values)

    def norm(self, backend: Backend) -> Array:
        return backend.rows_norm(self.rows, self.values, self.count)

    def sample_norms(self, samples: int, backend: Backend) -> Array:
        rows, values = self.rows.reshape(-1, samples).T, _by_sample(self.values, samples)
        return backend.xp.stack([Rows(r, v, self.count).norm(backend) for r, v in zip(rows, values, strict=True)])


@dataclass(frozen=True)
class Evaluated:
    """A gradient that is an array already."""

    array: Array
    spare: bool = False  # nobody reads it again, and dense may hand it out to be overwritten

    def dense(self, backend: Backend) -> Array:
        return self.array if self.spare else self.array.copy()

    def accumulate(self, into: Array, alpha: float | Array, beta: float, backend: Backend) -> None:
        if beta != 1.0:
            into *= beta
        into += alpha * self.array

    def norm(self, backend: Backend) -> Array:
        return backend.norm(self.array)

    def sample_norms(self, samples: int, backend: Backend) -> Array:
        raise UsageError("a gradient that is a matrix already no longer knows what each example added")


def evaluated(gradients: "Gradients", params: Mapping[str, Array], most: float, backend: Backend) -> "Gradients":
    """Those of parameters with at most so many entries as arrays, where both norms and entries are wanted."""
    return {
        name: Evaluated(g.dense(backend), spare=True) if params[name].size <= most else g
        for name, g in gradients.items()
    }


def _by_sample(a: Array, samples: int) -> Array:
    """Time-major rows (TB, n) as (B, T, n), in float64 for squares that would underflow."""
    return a.reshape(-1, samples, a.shape[-1]).swapaxes(0, 1).astype("float64")


def rows(a: Array) -> Array:
    """All leading axes as one: time and batch (T, B, n) become the rows (TB, n) of a matrix."""
    return a if a.ndim == 2 else a.reshape(-1, a.shape[-1])


Gradients = Mapping[str, Gradient]  # by parameter, "dense0.W"


def layer_norms(parameter_norms: Mapping[str, float]) -> dict[str, float]:
    """Norms of whole layers, weights and biases together, from those of their parameters."""
    norms: dict[str, float] = {}
    for name, norm in parameter_norms.items():
        layer = name.rpartition(".")[0]
        norms[layer] = hypot(norms.get(layer, 0.0), norm)
    return norms


def global_norm(parameter_norms: Mapping[str, float]) -> float:
    """Norm of all gradients as one vector."""
    return hypot(*parameter_norms.values())
