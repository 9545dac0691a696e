"""What passes through each layer: statistics of logits and activations, and the information they carry.

The empirical entropy of the activations comes from the logits, H(y) = H(z) + E ln |f′(z)|, with Vasicek's estimate of
H(z): it needs no histogram of y and stays right where y saturates. It is −∞ where f is constant on a part, as a
rectifier is. Beside it stands, for a logistic in disguise, the theory's H(y) for a Gaussian logit of the same mean and
standard deviation.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from minisig.activations import Activation, Logistic
from minisig.gradients import rows
from minisig.layers import state_activation
from minisig.theory import entropy, surrogate
from minisig.theory.moments import MAX, MIN, log_derivative
from minisig.trace import Trace

SATURATED = 0.05  # a logistic is saturated in the outer twentieth of its range on either side,
FLAT = 4 * SATURATED * (1 - SATURATED)  # where its derivative is below this share of the largest: so are others
MAX_LOGITS = 20_000  # whose entropy is estimated
MIN_LOGITS = 5  # of which SciPy gives one


@dataclass(frozen=True)
class LayerStatistics:
    """Of all logits of a layer over the batch (and over time), and of the activations they give."""

    name: str  # of the layer that makes the logits
    logit_mean: float
    logit_std: float
    neuron_std: float  # the part that varies with the input: root mean square of the neurons' own standard deviations
    mean: float  # of the activations
    std: float
    saturated: float  # share of them
    entropy: float  # of the activations, nats, estimated
    theory_entropy: float  # of one whose logit is Gaussian with these mean and standard deviation; NaN unless logistic


def activation_statistics(trace: Trace) -> list[LayerStatistics]:
    """One row for every layer that makes logits and gives their activations, or has an Activation after it."""
    found = []
    before = ""
    for name, layer in trace.layers.items():
        if f := state_activation(layer):
            found.append(_statistics(name, layer.logits(trace.outputs[name], trace.caches[name]), f, trace))
        elif isinstance(layer, Activation) and before:
            found.append(_statistics(before, trace.outputs[before], layer, trace))
        before = name
    return found


def _statistics(name: str, z: Any, activation: Activation, trace: Trace) -> LayerStatistics:
    z = rows(trace.backend.to_host(z).astype(np.float64))
    neuron_std = np.sqrt(z.var(axis=0).mean())
    z = z.reshape(-1)
    with np.errstate(divide="ignore"):  # logits that do not vary carry no information: −∞
        own = _of_logistic(z, activation.logistic) if activation.logistic else _of_any(z, activation)
    return LayerStatistics(
        name=name,
        logit_mean=float(z.mean()),
        logit_std=float(z.std()),
        neuron_std=float(neuron_std),
        **{key: float(value) for key, value in own.items()},
    )


def _of_logistic(z: Any, logistic: Logistic) -> dict[str, Any]:
    """In u = slope · z, of whose g(u) all is known, and without f′, which underflows where ln f′ does not."""
    slope, scale, centre = logistic.slope, logistic.scale, logistic.centre
    u, g = slope * z, expit(slope * z)
    some = _some(u)
    return {
        "mean": centre + scale * (g.mean() - 0.5),
        "std": scale * g.std(),
        "saturated": ((g < SATURATED) | (g > 1 - SATURATED)).mean(),
        "entropy": _spacing_entropy(some) + log_derivative(some).mean() + np.log(scale),
        "theory_entropy": _gaussian_entropy(u.mean(), u.std()) + np.log(scale),
    }


def _of_any(z: Any, activation: Activation) -> dict[str, Any]:
    y, slopes, some = activation.value(z), np.abs(activation.derivative(z)), _some(z)
    return {
        "mean": y.mean(),
        "std": y.std(),
        "saturated": (slopes < FLAT * activation.steepest).mean(),
        "entropy": _spacing_entropy(some) + np.log(np.abs(activation.derivative(some))).mean(),
        "theory_entropy": np.nan,
    }


def _some(z: Any) -> Any:
    return z if len(z) <= MAX_LOGITS else np.random.default_rng(0).choice(z, MAX_LOGITS, replace=False)


def _spacing_entropy(z: Any) -> float:
    """H(z), Vasicek's estimate."""
    from scipy.stats import differential_entropy  # half a second

    return float(differential_entropy(z, method="vasicek")) if len(z) >= MIN_LOGITS else np.nan


def _gaussian_entropy(mu: float, sigma: float) -> float:
    """H(y) of a Gaussian logit; beyond the reach of the quadrature H_B, to which it tends."""
    if not sigma > MIN:
        return -np.inf if sigma <= MIN else np.nan
    return float((entropy if max(abs(mu), sigma) <= MAX else surrogate)(mu, sigma))
