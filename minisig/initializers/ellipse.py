"""The ellipse projection: the nearest weights that give a logit its variance (paper, appendix C).

    min ‖w − w̃‖²   subject to   wᵀ D w = c,   D = diag(d),  d_i = Var{x_i}

The constraint is not convex, yet the answer is exact. Stationarity gives w_i = w̃_i / (1 + λ d_i), and

    φ(λ) = Σ d_i w̃_i² / (1 + λ d_i)²

falls strictly from +∞ to 0 on (−1/d_max, ∞), where the second-order condition holds: its one root φ(λ) = c is the
global minimum. In t = 1 + λ d_max > 0 the function φ^−½ is increasing and concave, so Newton's method started
left of the root climbs to it without ever stepping over; all neurons of a layer climb together.

The hard case: w̃ has no weight on the inputs of largest variance and φ stays below c. Then λ = −1/d_max, and the
missing variance is put on the first of those inputs (its sign and place are free; any choice is as near).
"""

import numpy as np
from numpy.typing import NDArray

from minisig.errors import UsageError
from minisig.initializers.inputs import Matrix

NOTHING = 1e-150  # whose square underflows
COLUMNS = 256  # projected at a time, to bound the memory
MAX_STEPS = 1000  # a dozen suffice but near the hard case, where t grows from almost 0 by half of itself a step


def project(W: Matrix, variances: Matrix, c: float) -> Matrix:
    """Every column of W (n, m) moved to the nearest w with Σ_i variances_i w_i² = c."""
    W = np.asarray(W, dtype=np.float64)
    d = np.asarray(variances, dtype=np.float64)
    _check(W, d, c)
    w = np.empty_like(W)
    for start in range(0, W.shape[1], COLUMNS):
        some = slice(start, start + COLUMNS)
        w[:, some] = _project(W[:, some], d, c)
    return w


def _project(W: Matrix, d: Matrix, c: float) -> Matrix:
    d_max = d.max()
    ratio = (d / d_max)[:, None]  # 1 + λ d_i = (1 − ratio_i) + t ratio_i, exact where ratio_i = 1
    size = np.sqrt(d / c)[:, None] * np.abs(W)  # φ/c = Σ (size_i / (1 + λ d_i))²
    size[size < NOTHING] = 0.0
    on_largest = (size[d == d_max] ** 2).sum(axis=0)
    total = (size**2).sum(axis=0)

    # Left of the root: φ/c ≥ total/t² for t ≥ 1, and φ/c ≥ on_largest/t² everywhere.
    t = np.sqrt(np.where(total >= 1, total, on_largest))
    hard = on_largest == 0
    hard[hard] = _phi(size[:, hard], ratio, np.zeros(hard.sum()))[0] <= 1
    moving = np.flatnonzero(~hard)
    for _ in range(MAX_STEPS):
        phi, slope = _phi(size[:, moving], ratio, t[moving])
        step = 2 * phi * (np.sqrt(phi) - 1) / -slope
        t[moving] += step
        moving = moving[np.abs(step) > 1e-9 * t[moving]]  # quadratic convergence: the rest is below rounding
        if len(moving) == 0:
            break
    return _at(W, d, ratio, np.where(hard, 0.0, t), hard, c)


def _phi(size: Matrix, ratio: Matrix, t: Matrix) -> tuple[Matrix, Matrix]:
    """φ/c and its derivative with respect to t; a term of size 0 is 0 even where its denominator is."""
    denominator = (1 - ratio) + t * ratio
    denominator[size == 0] = 1.0
    terms = (size / denominator) ** 2
    return terms.sum(axis=0), -2 * (terms * (ratio / denominator)).sum(axis=0)


def _at(W: Matrix, d: Matrix, ratio: Matrix, t: Matrix, hard: NDArray[np.bool_], c: float) -> Matrix:
    denominator = (1 - ratio) + t * ratio
    denominator[denominator == 0] = 1.0  # next to nothing on a largest input in the hard case: left alone
    w = W / denominator
    largest = int(np.argmax(d))
    missing = c - (d[:, None] * w[:, hard] ** 2).sum(axis=0)
    w[largest, hard] = np.sqrt(np.maximum(missing, 0.0) / d[largest])
    return w


def _check(W: Matrix, d: Matrix, c: float) -> None:
    if W.ndim != 2 or d.shape != W.shape[:1]:
        raise UsageError(f"projection: weights {W.shape} need {W.shape[:1]} variances, got {d.shape}")
    if not (np.isfinite(W).all() and np.isfinite(d).all() and np.isfinite(c)):
        raise UsageError("projection: weights, variances and target must be finite")
    if d.min() < 0 or c <= 0:
        raise UsageError(f"projection: variances must not be negative (least {d.min():g}) and c > 0 (got {c:g})")
    if d.max() == 0:
        raise UsageError("all inputs are constant: no weights can give the logits a variance; check the data")
