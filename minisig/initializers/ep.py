"""The paper's initialization, EP: every neuron where it passes on the most information.

A neuron's logit z = Σ_i w_i x_i + b is put at mean 0 and standard deviation σ:

    weights     Σ_i w_i² Var{x_i} = σ²      nearest point to a random w̃, see ellipse.py
    biases      b = −Σ_i w_i E{x_i}

The first layer's inputs are data, with their measured means and variances. A hidden layer's are outputs of such
neurons, E{x} = ½ and Var{x} = k, so that the projection is a plain scaling to ‖w‖ = σ/√k (5.16 for σ = √(π/2)).
The softmax layer is treated like the others.

The nearest point depends on the length of w̃, of which the paper says nothing (under the plain scaling it cancels).
Here w̃ has the length that would be right if all inputs had the mean variance. So equal variances give the paper's
formula, and an input that hardly varies gets no larger weight than the others: a raw U(−1, 1) would keep weights
near ±1 on MNIST's constant border and shrink those of the pixels that matter.

Other activations are covered as far as they are logistics in disguise, y = centre + scale (g(slope z) − ½); the rest
are refused.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation, Logistic
from minisig.errors import UsageError
from minisig.initializers.draws import Draw, orthogonal, uniform
from minisig.initializers.ellipse import project
from minisig.initializers.inputs import Inputs, Matrix, Target, Weights
from minisig.theory import best_sigma, exact_best_sigma, output_variance

# Where w̃ comes from, and the deviation a logit shall have.
EP: dict[str, tuple[Draw, Callable[[], float]]] = {
    "random+ep": (uniform, best_sigma),
    "ortho+ep": (orthogonal, best_sigma),
    "random+exact": (uniform, exact_best_sigma),
    "ortho+exact": (orthogonal, exact_best_sigma),
}


def on_ellipse(W: Matrix, variance: Matrix, c: float) -> Matrix:
    """Every column of W brought to the length right for the mean variance, then to the nearest w with wᵀDw = c."""
    length = np.sqrt(c / variance.mean()) if variance.any() else 1.0
    return project(W * (length / np.linalg.norm(W, axis=0)), variance, c)


def logistic_of(init: str, activation: Activation) -> Logistic:
    """The activation's three numbers, which alone EP knows what to do with."""
    if activation.logistic is None:
        raise UsageError(
            f"{init} puts logits where a logistic sigmoid passes on the most information, and {activation.name} is "
            f"none: choose lsuv, ortho, glorot or lecun"
        )
    return activation.logistic


def ep_activities(init: str, n: int, activation: Activation) -> Inputs:
    """What a layer above n of EP's own neurons sees: of sigmoids the mean ½ and the variance k."""
    logistic = logistic_of(init, activation)
    k = logistic.scale**2 * float(output_variance(0.0, EP[init][1]()))
    return Inputs(np.full(n, logistic.centre), np.full(n, k))


def ep_layer(init: str, inputs: Inputs, m: int, rng: Generator, activation: Activation) -> tuple[Matrix, Matrix]:
    """W (n, m) and b (m,) of m neurons that see such inputs."""
    draw, radius = EP[init]
    sigma = radius() / logistic_of(init, activation).slope
    W = on_ellipse(draw(len(inputs.mean), m, rng), inputs.variance, sigma**2)
    return W, -inputs.mean @ W


def ep(
    sizes: Sequence[int], rngs: Sequence[Generator], inputs: Inputs, activation: Activation, *, init: str
) -> tuple[Weights, Target]:
    weights = []
    for m, rng in zip(sizes[1:], rngs, strict=True):
        weights.append(ep_layer(init, inputs, m, rng, activation))
        inputs = ep_activities(init, m, activation)
    return weights, Target(mean=0.0, std=EP[init][1]() / logistic_of(init, activation).slope)
