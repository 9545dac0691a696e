"""What passes through each layer: statistics of logits and activities, and the information they carry.

The empirical entropy of the activities comes from the logits, H(y) = H(z) + E ln f′(z), with Vasicek's estimate of
H(z): it needs no histogram of y and stays right where y saturates. Beside it stands the theory's H(y) for a Gaussian
logit of the same mean and deviation.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from minisig.gradients import rows
from minisig.layers import ACTIVATIONS, RNN, Sigmoid
from minisig.theory import entropy, surrogate
from minisig.theory.moments import LEAST, MOST, log_derivative
from minisig.trace import Trace

SATURATED = 0.05  # an activity is saturated in the outer twentieth of its range on either side
MOST_LOGITS = 20_000  # whose entropy is estimated
LEAST_LOGITS = 5  # of which SciPy gives one


@dataclass(frozen=True)
class LayerStatistics:
    """Of all logits of a layer over the batch (and over time), and of the activities they give."""

    name: str  # of the layer that makes the logits
    logit_mean: float
    logit_std: float
    neuron_std: float  # the part of it that varies with the input: root mean square of the neurons' own deviations
    mean: float  # of the activities
    std: float
    saturated: float  # share of them
    entropy: float  # of the activities, nats, estimated
    theory_entropy: float  # of an activity whose logit is Gaussian with this mean and deviation


def activation_statistics(trace: Trace) -> list[LayerStatistics]:
    """One row for every layer of sigmoids or scaled tanhs, input first."""
    found = []
    before = ""
    for name, layer in trace.layers.items():
        if isinstance(layer, RNN):
            found.append(_statistics(name, trace.caches[name].z, Sigmoid(), trace))
        elif isinstance(layer, tuple(ACTIVATIONS.values())) and before:
            found.append(_statistics(before, trace.outputs[before], layer, trace))
        before = name
    return found


def _statistics(name: str, z: Any, activation: Any, trace: Trace) -> LayerStatistics:
    from scipy.stats import differential_entropy  # half a second

    slope, scale, centre = activation.slope, activation.scale, activation.centre
    z = rows(trace.backend.to_host(z).astype(np.float64))
    neuron_std = np.sqrt(z.var(axis=0).mean())
    z = z.reshape(-1)
    u, g = slope * z, expit(slope * z)
    some = u if len(u) <= MOST_LOGITS else np.random.default_rng(0).choice(u, MOST_LOGITS, replace=False)
    with np.errstate(divide="ignore"):  # logits that do not vary carry no information: −∞
        spacing = differential_entropy(some, method="vasicek") if len(some) >= LEAST_LOGITS else np.nan
        carried = spacing + log_derivative(some).mean() + np.log(scale)
        gaussian = _gaussian_entropy(u.mean(), u.std()) + np.log(scale)
    return LayerStatistics(
        name=name,
        logit_mean=float(z.mean()),
        logit_std=float(z.std()),
        neuron_std=float(neuron_std),
        mean=float(centre + scale * (g.mean() - 0.5)),
        std=float(scale * g.std()),
        saturated=float(((g < SATURATED) | (g > 1 - SATURATED)).mean()),
        entropy=float(carried),
        theory_entropy=float(gaussian),
    )


def _gaussian_entropy(mu: float, sigma: float) -> float:
    """H(y) of a Gaussian logit; beyond the reach of the quadrature H_B, to which it tends."""
    if not sigma > LEAST:
        return -np.inf if sigma <= LEAST else np.nan
    return float((entropy if max(abs(mu), sigma) <= MOST else surrogate)(mu, sigma))
