"""A deep stack of neurons whose logits all have (μ, σ): do gradients live?

    rows      ‖w‖ = σ / √k  keeps the logits' variance from layer to layer, k = Var y
    gain      χ = ‖w‖² E g′(z)²: a backpropagated squared gradient grows by χ a layer
    depth     ξ = 1 / |ln χ| layers until it has changed by a factor of e
    width     ‖W‖_F < 4 guarantees vanishing (paper, section V); with such rows, fewer than 16 / ‖w‖² neurons

At EP's optimum χ = 1.0612 and the critical width 32k/π = 0.60: below one neuron.
"""

import numpy as np

from minisig.theory.moments import Values, derivative, expectation, output_variance, positive


def row_norm(mu: Values, sigma: Values) -> Values:
    """‖w‖ of a neuron whose inputs are the outputs of neurons with this (μ, σ) and whose own logit has σ."""
    return positive(sigma) / np.sqrt(output_variance(mu, sigma))


def gain(mu: Values, sigma: Values) -> Values:
    """χ."""
    return row_norm(mu, sigma) ** 2 * expectation(lambda z: derivative(z) ** 2, mu, sigma)


def depth_scale(mu: Values, sigma: Values) -> Values:
    """ξ, in layers; infinite at χ = 1, the edge of chaos."""
    with np.errstate(divide="ignore"):
        return 1 / np.abs(np.log(gain(mu, sigma)))


def critical_width(mu: Values, sigma: Values) -> Values:
    """Neurons below which vanishing is guaranteed; 32k/π at EP's optimum, at most 8/π there as k ≤ 1/4."""
    return 16 / row_norm(mu, sigma) ** 2
