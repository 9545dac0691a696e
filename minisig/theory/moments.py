"""Density, mean and variance of y = g(z), z ~ N(μ, σ²).

p_y(y) = exp(−(ln(y/(1−y)) − μ)² / 2σ²) / (y (1−y) √(2πσ²))         paper, eq. 1
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logit

from minisig.errors import UsageError

Values = Any  # a float, or an array of them: every function here broadcasts

REACH = 38.0  # standard deviations on either side, all that float64 can tell from 0: far out f may outweigh the tail
MIN, MAX = 1e-100, 1e4  # of σ, and MAX of |μ| too, for which the quadrature is exact and quick


def expectation(f: Callable[[Any], Any], mu: Values, sigma: Values) -> Values:
    """E f(z) for z ~ N(μ, σ²), to rounding, for f analytic in the strip |Im z| < π (as g and ln g′ are).

    The trapezoidal rule on ∫ φ(t) f(μ + σt) dt converges exponentially, with an error of order
    exp(−2π² / (σ·step)): a step of 1/(4 max(1, σ)) leaves nothing but rounding.
    """
    mu, sigma = np.asarray(mu, dtype=float), positive(sigma)
    check_range(mu, sigma)
    half = int(np.ceil(REACH * 4 * np.maximum(1.0, sigma).max()))
    t = np.linspace(-REACH, REACH, 2 * half + 1)
    weights = np.exp(-0.5 * t**2)
    values = f(mu[..., None] + sigma[..., None] * t)
    return (values @ (weights / weights.sum()))[()]


def check_range(mu: Values, sigma: Values) -> None:
    """Refuse numbers for which the quadrature would be inexact or endless."""
    if not np.all(np.abs(mu) <= MAX):
        raise UsageError(f"mu must lie between −{MAX:g} and {MAX:g}, got {mu}")
    if not np.all((np.asarray(sigma) >= MIN) & (np.asarray(sigma) <= MAX)):
        raise UsageError(f"sigma must lie between {MIN:g} and {MAX:g}, got {sigma}")


def positive(sigma: Values) -> Any:
    sigma = np.asarray(sigma, dtype=float)
    if not np.all((sigma > 0) & np.isfinite(sigma)):
        raise UsageError(f"sigma must be positive and finite, got {sigma}")
    return sigma


def derivative(z: Any) -> Any:
    """g′(z) = g(z) g(−z), to full relative precision: the form y (1 − y) is 0 in float32 at z = 17."""
    return expit(z) * expit(-z)


def log_derivative(z: Any) -> Any:
    """ln g′(z) = −|z| − 2 ln(1 + e^−|z|), in which nothing over- or underflows."""
    return -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z)))


def density(y: Values, mu: Values, sigma: Values) -> Values:
    """p_y(y) for 0 < y < 1, and 0 elsewhere."""
    y, mu, sigma = np.asarray(y, dtype=float), np.asarray(mu, dtype=float), positive(sigma)
    inside = (y > 0) & (y < 1)
    y = np.where(inside, y, 0.5)
    gaussian = np.exp(-((logit(y) - mu) ** 2) / (2 * sigma**2)) / np.sqrt(2 * np.pi * sigma**2)
    return np.where(inside, gaussian / (y * (1 - y)), 0.0)[()]


def output_mean(mu: Values, sigma: Values) -> Values:
    """E y."""
    return expectation(expit, mu, sigma)


def output_variance(mu: Values, sigma: Values) -> Values:
    """Var y, of which k is the value at the optimum (0, √(π/2)): 0.05896."""
    mu = np.asarray(mu, dtype=float)[..., None]

    def rise(z: Any) -> Any:
        """g(z) − g(μ), without subtracting two nearly equal numbers when σ is small."""
        up, down = np.maximum(z - mu, 0.0), np.minimum(z - mu, 0.0)
        return expit(mu) * expit(-z) * np.expm1(down) - expit(z) * expit(-mu) * np.expm1(-up)

    return expectation(lambda z: rise(z) ** 2, mu[..., 0], sigma) - expectation(rise, mu[..., 0], sigma) ** 2
