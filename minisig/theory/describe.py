"""All the numbers of one neuron, by name."""

import numpy as np

from minisig.theory.entropy import best_sigma, entropy, exact_best_sigma, surrogate
from minisig.theory.mean_field import critical_width, depth_scale, gain, row_norm
from minisig.theory.moments import MOST, derivative, expectation, output_mean, output_variance


def describe(mu: float = 0.0, sigma: float | None = None) -> dict[str, float]:
    """The neuron with logit z ~ N(μ, σ²); without σ, the one that maximises H_B at this μ."""
    if sigma is None:
        sigma = 1.0 if abs(mu) > MOST else best_sigma(mu)
    centre = output_mean(mu, sigma)  # first of all: it refuses numbers out of all proportion
    bound = surrogate(mu, sigma)
    numbers = {
        "mu": mu,
        "sigma": sigma,
        "best_sigma": best_sigma(mu),
        "exact_best_sigma": exact_best_sigma(mu),
        "entropy": entropy(mu, sigma),
        "surrogate": bound,
        "lower_bound": bound - 2 * np.log(2),
        "output_mean": centre,
        "output_variance": output_variance(mu, sigma),
        "row_norm": row_norm(mu, sigma),
        "mean_derivative": expectation(derivative, mu, sigma),
        "mean_squared_derivative": expectation(lambda z: derivative(z) ** 2, mu, sigma),
        "gain": gain(mu, sigma),
        "depth_scale": depth_scale(mu, sigma),
        "critical_width": critical_width(mu, sigma),
    }
    return {name: float(value) for name, value in numbers.items()}
