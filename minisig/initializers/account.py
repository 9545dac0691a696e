"""What an initialization did: the target and the achieved mean and standard deviation of every layer's logits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minisig.activations import Activation, Logistic
from minisig.initializers.inputs import Inputs, Matrix, Target, Weights
from minisig.theory import output_mean, output_variance
from minisig.theory.moments import MAX, MIN

AT_A_TIME = 16  # neurons, to bound the memory of the quadrature
STEEP = 1e3  # standard deviation of a logit beyond which hardly an activation lies between 0 and 1
T = np.linspace(-10, 10, 4001)  # standard deviations at which others are evaluated: a jump is off by less than 1e-3


@dataclass(frozen=True)
class LayerAccount:
    """Logits of one layer.

    `mean` and `std` are over all its logits. `neuron_std` is the root mean square of the neurons' own standard
    deviations, the part of `std` that varies with the input; the rest are constant differences between neurons.
    """

    layer: str
    shape: tuple[int, int]
    target: Target
    mean: float
    std: float
    neuron_std: float

    @classmethod
    def of(cls, layer: str, shape: tuple[int, int], target: Target, mean: Matrix, variance: Matrix) -> "LayerAccount":
        """From the mean and variance of every neuron's logit."""
        pooled = variance.mean() + mean.var()
        return cls(layer, shape, target, float(mean.mean()), float(np.sqrt(pooled)), float(np.sqrt(variance.mean())))


@dataclass(frozen=True)
class Account:
    """What initializer `init` did, layer by layer; print it to read it."""

    init: str
    source: str  # "measured on 1000 inputs" or "predicted for …"
    layers: Sequence[LayerAccount]

    def __str__(self) -> str:
        lines = [
            f"{self.init}: logits, {self.source}",
            f"{'layer':<10}{'shape':>12}{'target mean':>13}{'mean':>9}{'target std':>12}{'std':>9}{'of a neuron':>13}",
        ]
        for row in self.layers:
            shape = "{}→{}".format(*row.shape)
            target_mean, target_std = ("–" if t is None else f"{t:.3f}" for t in (row.target.mean, row.target.std))
            lines.append(
                f"{row.layer:<10}{shape:>12}{target_mean:>13}{row.mean:>9.3f}"
                f"{target_std:>12}{row.std:>9.3f}{row.neuron_std:>13.3g}"
            )
        return "\n".join(lines)


def account_for(init: str, weights: Weights, inputs: Inputs, activation: Activation, target: Target) -> Account:
    """Measured on the sample if there is one, else predicted by treating the inputs of each layer as independent."""
    if inputs.sample is None:
        source = "predicted for independent inputs"
        statistics = _predicted(weights, inputs, activation)
    else:
        source = f"measured on {len(inputs.sample)} inputs"
        statistics = _measured(weights, inputs.sample, activation)
    rows = [
        LayerAccount.of(f"dense{i}", W.shape, target, mean, variance)
        for i, ((W, _), (mean, variance)) in enumerate(zip(weights, statistics, strict=True))
    ]
    return Account(init, source, rows)


def _measured(weights: Weights, x: Matrix, activation: Activation) -> list[tuple[Matrix, Matrix]]:
    """Mean and variance of every neuron's logit over the sample, per layer."""
    statistics = []
    for W, b in weights:
        z = x @ W + b
        statistics.append((z.mean(axis=0), z.var(axis=0)))
        x = activation.value(z)
    return statistics


def _predicted(weights: Weights, inputs: Inputs, activation: Activation) -> list[tuple[Matrix, Matrix]]:
    """The same from the inputs' moments alone: μ = Σ w E{x} + b, σ² = Σ w² Var{x}."""
    mean, variance = inputs.mean, inputs.variance
    statistics = []
    for W, b in weights:
        mu, sigma2 = mean @ W + b, variance @ W**2
        statistics.append((mu, sigma2))
        sigma, some = np.sqrt(sigma2), [slice(i, i + AT_A_TIME) for i in range(0, len(mu), AT_A_TIME)]
        moments = [_moments(mu[neurons], sigma[neurons], activation) for neurons in some]
        mean, variance = (np.concatenate(part) for part in zip(*moments, strict=True))
    return statistics


def _moments(mu: Matrix, sigma: Matrix, activation: Activation) -> tuple[Matrix, Matrix]:
    """Mean and variance of activations whose logits have these moments, which may be any numbers.

    Of a logistic they are exact; of others, by the trapezoidal rule, to a thousandth.
    """
    if activation.logistic:
        return _logistic_moments(mu, sigma, activation.logistic)
    p = np.exp(-0.5 * T**2)
    p /= p.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        y = activation.value(mu[:, None] + sigma[:, None] * T)
        mean: Matrix = y @ p
        return mean, (y - mean[:, None]) ** 2 @ p


def _logistic_moments(mu: Matrix, sigma: Matrix, logistic: Logistic) -> tuple[Matrix, Matrix]:
    """Of steep ones only μ/σ counts."""
    mu, sigma = logistic.slope * mu, logistic.slope * sigma
    flatter = np.maximum(sigma / STEEP, 1.0)
    u = np.clip(mu / flatter, -MAX, MAX), np.maximum(sigma / flatter, MIN)
    return logistic.centre + logistic.scale * (output_mean(*u) - 0.5), logistic.scale**2 * output_variance(*u)
