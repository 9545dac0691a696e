"""H(y), the surrogate H_B and the σ that maximises either, against quadrature and finite differences."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, xlogy

from minisig.theory import (
    best_sigma,
    density,
    entropy,
    exact_best_sigma,
    surrogate,
    surrogate_gradient,
    surrogate_hessian,
)

EP = np.sqrt(np.pi / 2)
MU, SIGMA = np.meshgrid(np.linspace(-4, 4, 17), np.linspace(0.5, 5, 19))
STEP = 1e-5
# A central difference is off by STEP²/6 · f‴ + ε |f| / STEP; on the grid |f‴| ≤ 2/σ³ + … < 30 and |f| < 5.
TOLERANCE = 30 * STEP**2 + 10 * np.finfo(float).eps * 5 / STEP


def by_mu(f):
    return (f(MU + STEP, SIGMA) - f(MU - STEP, SIGMA)) / (2 * STEP)


def by_sigma(f):
    return (f(MU, SIGMA + STEP) - f(MU, SIGMA - STEP)) / (2 * STEP)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (best_sigma(), 1.2533141373),
        (surrogate(0, EP), 0.6447298858),
        (surrogate(0, EP) - 2 * np.log(2), -0.7415644753),
        (entropy(0, EP), -0.0806851638),
        (exact_best_sigma(), 1.7488007445),
        (entropy(0, exact_best_sigma()), -0.0095116170),
    ],
)
def test_entropies_have_their_reference_values(value, printed):
    assert value == pytest.approx(printed, rel=0, abs=1e-8)


@pytest.mark.parametrize("sigma", [0.2, EP, 3.0])
@pytest.mark.parametrize("mu", [-2.0, 0.0, 1.0])
def test_entropy_is_the_integral_of_minus_p_ln_p(mu, sigma):
    def integrand(y):
        p = density(y, mu, sigma)
        return -xlogy(p, p)

    bulk = expit(mu + sigma * np.arange(-8, 9))
    direct, error = quad(integrand, 0, 1, points=bulk, limit=500, epsabs=1e-11)
    assert error < 1e-8  # 1 − y has few digits near 1, so that at σ = 3 no more can be had
    assert entropy(mu, sigma) == pytest.approx(direct, abs=error)


def test_entropy_lies_between_the_surrogate_and_two_ln_two_below_it():
    mu, sigma = np.linspace(-20, 20, 41)[:, None], np.logspace(-2, 2, 33)
    h, bound = entropy(mu, sigma), surrogate(mu, sigma)
    assert (bound - 2 * np.log(2) <= h).all()
    assert (h < bound).all()


def test_surrogate_gradient_agrees_with_finite_differences():
    d_mu, d_sigma = surrogate_gradient(MU, SIGMA)
    np.testing.assert_allclose(d_mu, by_mu(surrogate), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(d_sigma, by_sigma(surrogate), rtol=0, atol=TOLERANCE)


def test_surrogate_hessian_agrees_with_finite_differences():
    mu_mu, mu_sigma, sigma_sigma = surrogate_hessian(MU, SIGMA)
    by_first, by_second = (lambda *at, i=i: surrogate_gradient(*at)[i] for i in (0, 1))
    np.testing.assert_allclose(mu_mu, by_mu(by_first), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(mu_sigma, by_sigma(by_first), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(mu_sigma, by_mu(by_second), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(sigma_sigma, by_sigma(by_second), rtol=0, atol=TOLERANCE)


def test_the_second_derivative_printed_in_the_paper_is_wrong():
    printed = -1 / SIGMA**2 - np.sqrt(2 / np.pi) * MU**2 / SIGMA**2 * np.exp(-(MU**2) / (2 * SIGMA**2))
    gap = np.abs(printed - by_sigma(lambda *at: surrogate_gradient(*at)[1]))
    right_anyway = (MU == 0) | (SIGMA == 1) | (np.abs(MU / SIGMA) > 5)  # μ²/σ² = μ²/σ³, or both vanish
    assert (gap[~right_anyway] > 1e4 * TOLERANCE).all()


def test_the_surrogate_has_its_strict_maximum_at_the_best_radius():
    mu_mu, mu_sigma, sigma_sigma = surrogate_hessian(0.0, best_sigma())
    assert surrogate_gradient(0.0, best_sigma()) == pytest.approx((0, 0), abs=1e-15)
    assert mu_mu < 0
    assert mu_mu * sigma_sigma > mu_sigma**2


def test_best_sigma_is_the_zero_of_the_surrogates_slope():
    mu = np.concatenate([[0.0], np.logspace(-6, 4, 41)])
    mu = np.concatenate([-mu, mu])
    sigma = best_sigma(mu)
    # ∂H_B/∂σ = 1/σ − bell; an error of a few ε in σ moves the bell by μ²/σ² ≤ 60 as much.
    np.testing.assert_allclose(sigma * surrogate_gradient(mu, sigma)[1], 0, atol=1e-13)
    assert (surrogate_hessian(mu, sigma)[2] < 0).all()


@pytest.mark.parametrize("mu", [0.0, *np.logspace(-3, 3, 13)])
def test_exact_best_sigma_maximises_the_entropy(mu):
    sigma = exact_best_sigma(mu)
    assert exact_best_sigma(-mu) == pytest.approx(sigma, rel=1e-12)
    for sign in (-1, 1):
        best = entropy(sign * mu, sigma)
        # H falls by about (Δσ/σ)²: 1e-6 for the nearest two, far above rounding.
        assert (entropy(sign * mu, sigma * np.array([0.999, 1.001])) < best - 1e-8).all()
        assert (entropy(sign * mu, sigma * np.logspace(-1, 1, 40)) < best).all()


@pytest.mark.parametrize("best", [best_sigma, exact_best_sigma])
def test_the_best_sigma_of_an_array_is_that_of_each_entry(best):
    mu = np.array([[0.0, 1.0, -3.0]])
    np.testing.assert_allclose(best(mu), [[best(m) for m in mu[0]]], rtol=1e-12)
