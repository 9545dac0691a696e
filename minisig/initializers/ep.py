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

In a recurrent layer the logit's variance comes from two sides:

    mode "recurrent"    columns of Wh at the radius σ/√k (paper, section V); the inputs add a small part to the logits,
                        of standard deviation `input_rms` over the vocabulary
    mode "joint"        σ² split evenly between inputs and state (theorem 1 speaks of the neuron's whole input)

The biases centre every logit, b = −Σ w E{x} − Σ w ½: the mean of an embedding's output is that of its rows weighted
with the tokens' frequencies. A gated cell is no sigmoid neuron, and is refused.

Other activations are covered as far as they are logistics in disguise, y = centre + scale (g(slope z) − ½); the rest
are refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.random import Generator

from minisig.activations import Activation, Logistic
from minisig.errors import UsageError
from minisig.initializers.draws import Draw, orthogonal, uniform
from minisig.initializers.ellipse import project
from minisig.initializers.inputs import Inputs, Matrix, Started, Target, Weights
from minisig.settings import Settings
from minisig.theory import best_sigma, exact_best_sigma, output_variance

Length = Annotated[float, msgspec.Meta(ge=1e-6, le=1e6)]


@dataclass(frozen=True)
class EP:
    """One of the EP initializations."""

    name: str
    draw: Draw  # where w̃ comes from
    sigma: Callable[[], float]  # the standard deviation that a sigmoid's logit shall have

    class CellSettings(Settings, frozen=True):
        ep_mode: Literal["recurrent", "joint"] = "recurrent"
        radius: Length | None = None  # norm of the recurrent weights of a neuron; None for what the mode says
        input_rms: Length = 0.1  # of the inputs' part of the logits, in mode "recurrent"

    def __call__(
        self, sizes: Sequence[int], rngs: Sequence[Generator], inputs: Inputs, activation: Activation
    ) -> tuple[Weights, Target]:
        weights = []
        for m, rng in zip(sizes[1:], rngs, strict=True):
            weights.append(self.layer(inputs, m, rng, activation))
            inputs = self.activations(m, activation)
        return weights, self.target(activation)

    def layer(self, inputs: Inputs, m: int, rng: Generator, activation: Activation) -> tuple[Matrix, Matrix]:
        """W (n, m) and b (m,) of m neurons that see such inputs."""
        sigma = self.sigma() / self.logistic_of(activation).slope
        W = on_ellipse(self.draw(len(inputs.mean), m, rng), inputs.variance, sigma**2)
        return W, -inputs.mean @ W

    def activations(self, n: int, activation: Activation) -> Inputs:
        """What a layer above n of EP's own neurons sees: of sigmoids the mean ½ and the variance k."""
        logistic = self.logistic_of(activation)
        k = logistic.scale**2 * float(output_variance(0.0, self.sigma()))
        return Inputs(np.full(n, logistic.centre), np.full(n, k))

    def target(self, activation: Activation) -> Target:
        return Target(mean=0.0, std=self.sigma() / self.logistic_of(activation).slope)

    def logistic_of(self, activation: Activation) -> Logistic:
        """The activation's three numbers, which alone EP knows what to do with."""
        if activation.logistic is None:
            raise UsageError(
                f"{self.name} puts logits where a logistic sigmoid passes on the most information, and "
                f"{activation.name} is none: choose lsuv, ortho, glorot or lecun"
            )
        return activation.logistic

    def suits(self, cell: Any) -> bool:
        """Whether the cell is made of logistic neurons."""
        activation = getattr(cell, "activation", None)
        return activation is not None and activation.logistic is not None

    def cell(self, cell: Any, inputs: Inputs, H: int, rngs: Sequence[Generator], **own: Any) -> Started:
        return self.recurrent(inputs, H, rngs, cell.activation, **own)

    def recurrent(
        self,
        inputs: Inputs,
        H: int,
        rngs: Sequence[Generator],
        activation: Activation,
        *,
        ep_mode: str = "recurrent",
        radius: float | None = None,
        input_rms: float = 0.1,
    ) -> Started:
        """Wx (n, H), Wh (H, H) and b (H,) of a recurrent layer with this activation."""
        slope = self.logistic_of(activation).slope
        sigma, state = self.sigma() / slope, self.activations(H, activation)
        variance = inputs.variance
        if ep_mode == "joint":
            c_x = c_h = sigma**2 / 2
        else:
            c_x, c_h = (input_rms / slope) ** 2, sigma**2
            if inputs.table is not None:  # every token, however rare, shall move the logits by input_rms
                alike = np.full(len(inputs.table), 1 / len(inputs.table))
                variance = alike @ (inputs.table - alike @ inputs.table) ** 2
        if radius is not None:
            c_h = radius**2 * state.variance[0]
        Wx = on_ellipse(self.draw(len(inputs.mean), H, rngs[0]), variance, c_x)
        Wh = on_ellipse(self.draw(H, H, rngs[1]), state.variance, c_h)
        b = -inputs.mean @ Wx - state.mean[0] * Wh.sum(axis=0)
        return Started({"Wx": Wx, "Wh": Wh, "b": b}, Target(0.0, float(np.sqrt(c_x + c_h))), state)


def on_ellipse(W: Matrix, variance: Matrix, c: float) -> Matrix:
    """Every column of W brought to the length right for the mean variance, then to the nearest w with wᵀDw = c."""
    length = np.sqrt(c / variance.mean()) if variance.any() else 1.0
    return project(W * (length / np.linalg.norm(W, axis=0)), variance, c)


EPS = {
    ep.name: ep
    for ep in (
        EP("random+ep", uniform, best_sigma),
        EP("ortho+ep", orthogonal, best_sigma),
        EP("random+exact", uniform, exact_best_sigma),
        EP("ortho+exact", orthogonal, exact_best_sigma),
    )
}
