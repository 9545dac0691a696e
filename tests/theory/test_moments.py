"""E f(z), density, mean and variance of y = g(z), z ~ N(μ, σ²), against independent quadratures."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, roots_hermitenorm

from minisig import theory
from minisig.errors import UsageError
from minisig.theory.moments import MAX, MIN

EP = np.sqrt(np.pi / 2)
INTEGRANDS = {
    "g": expit,
    "g'": theory.derivative,
    "g'^2": lambda z: theory.derivative(z) ** 2,
    "ln g'": lambda z: -np.logaddexp(0, z) - np.logaddexp(0, -z),
}
MU, SIGMA = np.array([-3.0, 0.0, 0.7]), np.array([0.5, EP, 2.0, 9.0])
QUADRATURES = [
    theory.output_mean,
    theory.output_variance,
    theory.entropy,
    theory.row_norm,
    theory.gain,
    theory.depth_scale,
    theory.critical_width,
]
CLOSED_FORMS = [
    theory.surrogate,
    theory.surrogate_gradient,
    theory.surrogate_hessian,
    lambda mu, sigma: theory.density(0.3, mu, sigma),
]


def over_y(f, mu, sigma):
    """∫₀¹ f(y) dy, told where the density of y has its bulk."""
    return quad(f, 0, 1, points=expit(mu + sigma * np.arange(-8, 9)), limit=200, epsabs=1e-12)[0]


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (theory.output_variance(0, EP), 0.0589598258),
        (theory.output_variance(0, 1.7488007445), 0.0865106952),
        (theory.expectation(theory.derivative, 0, EP), 0.1910401742),
        (theory.expectation(lambda z: theory.derivative(z) ** 2, 0, EP), 0.0398306329),
    ],
)
def test_moments_have_their_reference_values(value, printed):
    assert value == pytest.approx(printed, rel=0, abs=1e-8)


@pytest.mark.parametrize("f", INTEGRANDS.values(), ids=INTEGRANDS)
@pytest.mark.parametrize("sigma", [0.01, 0.5, 1.0, EP, 2.0])
@pytest.mark.parametrize("mu", [-5.0, 0.0, 1.3])
def test_expectation_agrees_with_gauss_hermite(f, mu, sigma):
    # 200 nodes leave e^-40 at σ = 2 (poles at ±iπ), so that only the rounding of 200 terms is seen.
    t, weights = roots_hermitenorm(200)
    reference = weights @ f(mu + sigma * t) / weights.sum()
    assert theory.expectation(f, mu, sigma) == pytest.approx(reference, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("f", INTEGRANDS.values(), ids=INTEGRANDS)
@pytest.mark.parametrize("sigma", [10.0, 300.0, 5000.0])
@pytest.mark.parametrize("shift", [-1.5, 0.0, 0.4])
def test_expectation_agrees_with_adaptive_quadrature_at_large_sigma(f, shift, sigma):
    def integrand(t):
        return f(sigma * (shift + t)) * np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)

    kink = -shift + np.array([-40, -5, 0, 5, 40]) / sigma
    reference, error = quad(integrand, -9, 9, points=kink, limit=500, epsabs=1e-14, epsrel=1e-12)
    assert theory.expectation(f, shift * sigma, sigma) == pytest.approx(reference, rel=0, abs=10 * error + 1e-15)


@pytest.mark.parametrize("sigma", [0.2, EP, 3.0])
@pytest.mark.parametrize("mu", [-2.0, 0.0, 1.0])
def test_density_integrates_to_one_and_has_the_mean_and_variance_of_y(mu, sigma):
    def p(y):
        return theory.density(y, mu, sigma)

    mean = over_y(lambda y: y * p(y), mu, sigma)
    assert over_y(p, mu, sigma) == pytest.approx(1, abs=1e-11)
    assert theory.output_mean(mu, sigma) == pytest.approx(mean, abs=1e-11)
    assert theory.output_variance(mu, sigma) == pytest.approx(
        over_y(lambda y: (y - mean) ** 2 * p(y), mu, sigma), abs=1e-11
    )


@pytest.mark.parametrize("sigma", [1e-2, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("mu", [-5.0, 0.0, 0.3, 8.0])
def test_at_small_sigma_the_variance_is_that_of_the_tangent(mu, sigma):
    # The next term of the expansion is of relative order σ²; μ + σt in float64 knows σ to ε|μ|/σ.
    tolerance = 5 * sigma**2 + 100 * np.finfo(float).eps * (1 + abs(mu)) / sigma
    assert theory.output_variance(mu, sigma) == pytest.approx(
        (theory.derivative(mu) * sigma) ** 2, rel=float(tolerance), abs=0
    )


@pytest.mark.parametrize(("mu", "sigma"), [(-40, 4), (-50, 5), (-100, 10), (50, 5)])
def test_far_out_it_is_the_tail_that_counts(mu, sigma):
    def mean(f):
        pieces = np.arange(-38, 38, 2)
        return sum(quad(lambda t: np.exp(-(t**2) / 2) * f(mu + sigma * t), a, a + 2, epsabs=0)[0] for a in pieces)

    squared = theory.expectation(lambda z: theory.derivative(z) ** 2, mu, sigma)
    assert squared == pytest.approx(mean(lambda z: theory.derivative(z) ** 2) / np.sqrt(2 * np.pi), rel=1e-9)
    sign = -np.sign(mu)  # of y and 1 − y the one that does not round to 1
    y, y2 = (mean(lambda z, n=n: expit(sign * z) ** n) / np.sqrt(2 * np.pi) for n in (1, 2))
    assert theory.output_variance(mu, sigma) == pytest.approx(y2 - y**2, rel=1e-9)


def test_density_is_zero_outside_the_unit_interval():
    outside = np.array([-np.inf, -1.0, 0.0, 1.0, 1.5, np.inf])
    np.testing.assert_array_equal(theory.density(outside, 0.3, 2.0), np.zeros(6))
    assert (theory.density(np.array([1e-6, 0.5, 1 - 1e-6]), 0.3, 2.0) > 0).all()


@pytest.mark.parametrize("z", [-40.0, 40.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivative_keeps_full_relative_precision_in_the_tails(z, dtype):
    # g′(z) = e^−|z| (1 + O(e^−|z|)); four roundings: one in each factor, one in each exponential.
    value = theory.derivative(dtype(z))
    assert value.dtype == dtype
    assert float(value) == pytest.approx(np.exp(-40.0), rel=4 * float(np.finfo(dtype).eps), abs=0)


@pytest.mark.parametrize("f", QUADRATURES + CLOSED_FORMS)
def test_every_function_broadcasts_over_arrays(f):
    mu, sigma = MU[:, None], SIGMA
    # Not to the bit: the quadrature takes the step of the largest σ, and ln χ of a χ near 1 loses three digits.
    np.testing.assert_allclose(f(mu, sigma), np.vectorize(f)(mu, sigma), rtol=1e-12)
    np.testing.assert_allclose(f(MU, 2.0), np.vectorize(f)(MU, 2.0), rtol=1e-12)


@pytest.mark.parametrize("f", QUADRATURES + CLOSED_FORMS)
@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf, [1.0, -2.0]])
def test_a_sigma_that_is_not_positive_and_finite_is_refused(f, sigma):
    with pytest.raises(UsageError, match=r"sigma must .*, got"):
        f(0.0, sigma)


@pytest.mark.parametrize("f", QUADRATURES)
def test_a_sigma_too_large_to_integrate_over_is_refused(f):
    with pytest.raises(UsageError, match=r"sigma .*(1e\+09|1000000000)"):
        f(0.0, 1e9)


@pytest.mark.parametrize("f", [theory.output_mean, theory.output_variance, theory.entropy])
def test_the_ends_of_the_range_belong_to_it(f):
    for mu, sigma in ((MAX, 1.0), (-MAX, 1.0), (0.0, MIN), (0.0, MAX)):
        assert np.isfinite(f(mu, sigma))
    with pytest.raises(UsageError, match="mu must lie between"):
        f(1.0001 * MAX, 1.0)
