"""One neuron y = g(z) with g(z) = 1/(1 + e^−z) and z ~ N(μ, σ²): what it passes on, and what is best.

moments.py     E f(z) by quadrature; density, mean and variance of y
entropy.py     H(y), the paper's surrogate H_B with its derivatives, and the σ that maximizes either
mean_field.py  a deep stack of such neurons: gain χ, depth scale, critical width
describe.py    all of these numbers of one neuron, by name
"""

from minisig.theory.entropy import (
    best_sigma,
    entropy,
    exact_best_sigma,
    surrogate,
    surrogate_gradient,
    surrogate_hessian,
)
from minisig.theory.mean_field import critical_width, depth_scale, gain, row_norm
from minisig.theory.moments import density, derivative, expectation, output_mean, output_variance

__all__ = [
    "best_sigma",
    "critical_width",
    "density",
    "depth_scale",
    "derivative",
    "entropy",
    "exact_best_sigma",
    "expectation",
    "gain",
    "output_mean",
    "output_variance",
    "row_norm",
    "surrogate",
    "surrogate_gradient",
    "surrogate_hessian",
]
