"""Largest singular values by Lanczos against full SVDs."""

import numpy as np
import pytest

from minisig.diagnostics.spectral import EXACT, TOLERANCE, spectral_norms


@pytest.mark.parametrize("shape", [(300, 200), (150, 400), (200, 200)])
@pytest.mark.parametrize("kind", ["gaussian", "orthogonal", "low rank", "decaying", "clustered"])
def test_lanczos_lies_between_the_norm_and_its_tolerance_above(shape, kind):
    rng = np.random.default_rng(0)
    k = min(shape)
    W = rng.standard_normal(shape)
    if kind != "gaussian":
        U, _, Vt = np.linalg.svd(W, full_matrices=False)
        spectrum = {
            "orthogonal": np.ones(k),
            "low rank": np.r_[[3.0, 2.0], np.zeros(k - 2)],
            "decaying": 0.9 ** np.arange(k),
            "clustered": 1 - 1e-4 * np.arange(k) / k,
        }[kind]
        W = (U * spectrum) @ Vt
    assert min(shape) > EXACT
    scales = rng.uniform(0.01, 0.25, (4, shape[1]))
    exact = [np.linalg.svd(W * s, compute_uv=False)[0] for s in scales]
    found = spectral_norms(W, scales, upper=True)
    assert (found >= exact).all()
    np.testing.assert_allclose(found, exact, rtol=1.5 * TOLERANCE)
    assert spectral_norms(W)[0] == pytest.approx(np.linalg.norm(W, 2), rel=0.5 * TOLERANCE)


def test_small_matrices_are_exact():
    W = np.random.default_rng(0).standard_normal((7, 300))
    assert spectral_norms(W)[0] == pytest.approx(np.linalg.norm(W, 2), rel=1e-12)


def test_a_zero_matrix_has_norm_zero():
    assert spectral_norms(np.zeros((200, 200)))[0] == 0


@pytest.mark.parametrize("size", [3, EXACT + 10])
def test_what_is_not_finite_has_no_norm(size):
    W = np.ones((size, size))
    assert np.isnan(spectral_norms(W, np.full((2, size), np.inf))).all()
    W[0, 0] = np.nan
    assert np.isnan(spectral_norms(W)).all()
