"""All the numbers of one neuron, by name."""

import numpy as np

from minisig.theory.entropy import best_sigma, entropy, exact_best_sigma, surrogate
from minisig.theory.mean_field import critical_width, depth_scale, gain, row_norm
from minisig.theory.moments import check_range, derivative, expectation, output_mean, output_variance


def describe(mu: float, sigma: float | None = None) -> dict[str, float]:
    """The neuron with logit z ~ N(μ, σ²); without σ, the one that maximizes H_B at this μ."""
    check_range(mu, 1.0 if sigma is None else sigma)
    if sigma is None:
        sigma = best_sigma(mu)
    with np.errstate(all="ignore"):  # far out in the tails k is 0 and what is divided by it not a number
        return {name: float(value) for name, value in _numbers(mu, sigma).items()}


def _numbers(mu: float, sigma: float) -> dict[str, float]:
    bound = surrogate(mu, sigma)
    return {
        "mu": mu,
        "sigma": sigma,
        "best_sigma": best_sigma(mu),
        "exact_best_sigma": exact_best_sigma(mu),
        "entropy": entropy(mu, sigma),
        "surrogate": bound,
        "lower_bound": bound - 2 * np.log(2),
        "output_mean": output_mean(mu, sigma),
        "output_variance": output_variance(mu, sigma),
        "row_norm": row_norm(mu, sigma),
        "mean_derivative": expectation(derivative, mu, sigma),
        "mean_squared_derivative": expectation(lambda z: derivative(z) ** 2, mu, sigma),
        "gain": gain(mu, sigma),
        "depth_scale": depth_scale(mu, sigma),
        "critical_width": critical_width(mu, sigma),
    }
