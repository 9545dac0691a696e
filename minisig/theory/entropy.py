"""How much information the neuron passes on, and the radius that maximizes it.

    H(y)      = H(z) + E ln g′(z)                                                      paper, eq. 2
    H_B(μ, σ) = ½ + ½ ln 2πσ² − μ erf(μ/σ√2) − σ√(2/π) e^(−μ²/2σ²)                     paper, eq. 4
    H(y)      = H_B − 2 E ln(1 + e^−|z|)

The last line follows from ln(1 + e^z) = max(0, z) + ln(1 + e^−|z|). The expectation lies in (0, ln 2], which is
the paper's eq. 3, H_B − 2 ln 2 ≤ H(y) < H_B.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf, lambertw

from minisig.theory.moments import Values, derivative, expectation, log_derivative, positive


def entropy(mu: Values, sigma: Values) -> Values:
    """H(y) in nats, by quadrature."""
    return _gaussian_entropy(positive(sigma)) + expectation(log_derivative, mu, sigma)


def surrogate(mu: Values, sigma: Values) -> Values:
    """H_B(μ, σ)."""
    mu, sigma = np.asarray(mu, dtype=float), positive(sigma)
    tails = mu * erf(mu / (sigma * np.sqrt(2))) + sigma * _bell(mu, sigma)
    return (_gaussian_entropy(sigma) - tails)[()]


def surrogate_gradient(mu: Values, sigma: Values) -> tuple[Values, Values]:
    """(∂H_B/∂μ, ∂H_B/∂σ)."""
    mu, sigma = np.asarray(mu, dtype=float), positive(sigma)
    return (-erf(mu / (sigma * np.sqrt(2))))[()], (1 / sigma - _bell(mu, sigma))[()]


def surrogate_hessian(mu: Values, sigma: Values) -> tuple[Values, Values, Values]:
    """(∂²H_B/∂μ², ∂²H_B/∂μ∂σ, ∂²H_B/∂σ²).

    The paper prints μ²/σ² in the last one; it is μ²/σ³. Its conclusion, negative definite at the optimum, stands.
    """
    mu, sigma = np.asarray(mu, dtype=float), positive(sigma)
    bell = _bell(mu, sigma)
    return (
        (-bell / sigma)[()],
        (bell * mu / sigma**2)[()],
        (-1 / sigma**2 - bell * mu**2 / sigma**3)[()],
    )


def best_sigma(mu: Values = 0.0) -> Values:
    """The σ that maximizes H_B at this μ, √(π/2) e^(W(2μ²/π)/2) (paper, theorem 1); √(π/2) at μ = 0."""
    mu = np.asarray(mu, dtype=float)
    return (np.sqrt(np.pi / 2) * np.exp(lambertw(2 * mu**2 / np.pi).real / 2))[()]


def exact_best_sigma(mu: Values = 0.0) -> Values:
    """The σ that maximizes the true entropy H(y) at this μ; 1.7488 at μ = 0.

    By Stein's lemma ∂H/∂σ = 1/σ − 2σ E g′(z). Its root lies above √2, since E g′ ≤ 1/4, and never far from the
    surrogate's, whose slope this one approaches for large σ.
    """

    def root(mu: float) -> float:
        def slope(sigma: float) -> Values:
            return 1 / sigma - 2 * sigma * expectation(derivative, mu, sigma)

        return float(brentq(slope, np.sqrt(2.0) - 1e-9, best_sigma(mu) + 2.0, xtol=1e-14, rtol=8.9e-16))

    return np.vectorize(root, otypes=[float])(mu)[()]


def _gaussian_entropy(sigma: Any) -> Any:
    return 0.5 + 0.5 * np.log(2 * np.pi * sigma**2)


def _bell(mu: Any, sigma: Any) -> Any:
    """√(2/π) e^(−μ²/2σ²), in every formula above."""
    return np.sqrt(2 / np.pi) * np.exp(-(mu**2) / (2 * sigma**2))
