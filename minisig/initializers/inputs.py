"""What an initializer is told of the inputs (their means and variances, a sample) and what it aims at."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from minisig.errors import UsageError, one_line

Matrix = NDArray[np.float64]

Weights = list[tuple[Matrix, Matrix]]  # (W, b) of every layer, W (n, m) and b (m,)
Params = dict[str, Matrix]  # of a recurrent layer, {"Wx": …, "Wh": …, "b": …}

SAMPLE = 1000  # rows kept for lsuv and for the account; statistics are of all rows


@dataclass(frozen=True)
class Target:
    """Mean and standard deviation that the logits shall have; None where an initializer leaves it open."""

    mean: float | None = None
    std: float | None = None


def checked_sizes(sizes: Iterable[int]) -> list[int]:
    """Sizes of layers, which anybody may have given."""
    try:
        found = [index(n) for n in sizes]
    except TypeError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"expected the sizes of layers as positive whole numbers, such as [64, 10], got {sizes!r}")
    return found


@dataclass(frozen=True)
class Inputs:
    mean: Matrix  # (n,)
    variance: Matrix  # (n,)
    sample: Matrix | None = None  # (N, n), or (T, B, n) of a recurrent layer
    table: Matrix | None = None  # (V, n): the rows of an embedding, where the inputs are some of them

    @classmethod
    def measured(cls, x: NDArray[np.floating], weights: Matrix | None = None) -> "Inputs":
        """From data x (N, n); with weights (N,), above 0, a row counts as often in mean and variance as its says."""
        try:
            x = np.asarray(x)
            x = x if x.dtype.kind in "fiub" else x.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise UsageError(f"expected data x (N, n) that are numbers, all rows as long: {one_line(error)}") from None
        if x.ndim != 2 or not len(x):
            raise UsageError(
                f"expected data x (N, n), a row for each example, got shape {x.shape}; reshape images to rows"
            )
        with np.errstate(all="ignore"):  # what is not finite is named below
            mean = x.mean(axis=0, dtype=np.float64) if weights is None else np.average(x, axis=0, weights=weights)
            variance = np.zeros_like(mean)
            for start in range(0, len(x), SAMPLE):  # in pieces: a float64 copy of all of MNIST takes 300 MB
                some = slice(start, start + SAMPLE)
                squares = (x[some] - mean) ** 2
                variance += squares.sum(axis=0) if weights is None else weights[some] @ squares
        if (wrong := np.flatnonzero(~np.isfinite(variance))).size:
            more = f" and {wrong.size - 1} more" if wrong.size > 1 else ""
            raise UsageError(
                f"the data hold NaN, infinity or numbers too large in column {wrong[0]}{more}: remove or replace them"
            )
        variance[(x == x[0]).all(axis=0)] = 0.0  # exactly: of a constant 0.1 the mean is off by rounding
        count = len(x) if weights is None else weights.sum()
        return cls(mean, variance / count, np.asarray(x[:SAMPLE], dtype=np.float64))

    @classmethod
    def standard(cls, n: int) -> "Inputs":
        """No data at hand: inputs of mean 0 and variance 1 are assumed."""
        return cls(np.zeros(n), np.ones(n))

    def require_sample(self, init: str) -> Matrix:
        if self.sample is None:
            raise UsageError(f"{init} scales the logits of a data batch: pass one, for example mlp(…, x=x_train)")
        return self.sample


@dataclass(frozen=True)
class Started:
    """What an initializer's `cell` makes of a recurrent layer."""

    params: Params  # Wx (n, m) and Wh (H, m), m = H for every gate; b (m,) too, or the cell has its own
    target: Target = Target()
    activations: Optional["Inputs"] = None  # what a layer above will see by theory; None to measure it
