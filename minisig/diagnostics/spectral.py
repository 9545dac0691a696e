"""Largest singular values, without a full SVD of a large matrix.

Golub–Kahan–Lanczos bidiagonalization of A = W diag(s), for many s at once: each step is one product with W and one
with Wᵀ for all of them together. After k steps the largest singular value of the small bidiagonal matrix lies below
that of A, by a relative error that falls like (ln n / k)². 60 steps leave less than TOLERANCE for any spectrum met in
practice; rounded up by it, the result serves in an upper bound.
"""

from typing import Any

import numpy as np

from minisig.initializers.inputs import Matrix

EXACT = 128  # up to this many rows or columns an SVD is quick
STEPS = 60
TOLERANCE = 1e-3


def spectral_norms(W: Matrix, scales: Matrix | None = None, *, upper: bool = False) -> Matrix:
    """‖W diag(s)‖₂ for every row s of scales (S, m), W (n, m); without scales just ‖W‖₂, as (1,).

    `upper` rounds up by TOLERANCE what is not exact.
    """
    W = np.asarray(W, dtype=np.float64)
    s = np.ones((1, W.shape[1])) if scales is None else np.asarray(scales, dtype=np.float64)
    if not (np.isfinite(W).all() and np.isfinite(s).all()):
        return np.full(len(s), np.nan)
    if min(W.shape) <= EXACT:
        return np.array([np.linalg.svd(W * row, compute_uv=False)[0] for row in s])
    return _lanczos(W, s) * (1 + TOLERANCE if upper else 1.0)


def _lanczos(W: Matrix, s: Matrix) -> Matrix:
    S, m = s.shape
    v: Any = np.random.default_rng(0).standard_normal((S, m))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    basis = np.empty((STEPS, S, m))
    alpha, beta = np.zeros((S, STEPS)), np.zeros((S, STEPS))
    u_prev: Any = np.zeros((S, len(W)))
    for k in range(STEPS):
        basis[k] = v
        u = (v * s) @ W.T - (beta[:, k - 1, None] * u_prev if k else 0.0)
        alpha[:, k], u_prev = _unit(u, alpha[:, 0])
        v = (u_prev @ W) * s - alpha[:, k, None] * v
        for _ in range(2):  # orthogonal to all before, twice for rounding
            v = v - np.einsum("ksm,ks->sm", basis[: k + 1], np.einsum("ksm,sm->ks", basis[: k + 1], v))
        beta[:, k], v = _unit(v, alpha[:, 0])
    bidiagonal = np.zeros((S, STEPS, STEPS))
    bidiagonal[:, range(STEPS), range(STEPS)] = alpha
    bidiagonal[:, range(STEPS - 1), range(1, STEPS)] = beta[:, :-1]
    return np.asarray(np.linalg.svd(bidiagonal, compute_uv=False)[:, 0], dtype=np.float64)


def _unit(v: Any, size: Any) -> tuple[Any, Any]:
    """Length and direction of every row; where the space is exhausted and only rounding is left, both are 0."""
    length = np.linalg.norm(v, axis=1)
    length[length <= 1e-12 * size] = 0.0
    return length, v / np.where(length > 0, length, np.inf)[:, None]
