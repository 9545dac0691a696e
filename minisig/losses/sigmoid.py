"""Sigmoid cross-entropy: C questions with yes or no for an answer, each by itself (the output layer of paper, eq. 5).

    loss   L = −(1/N) Σ_i Σ_c t ln g(z) + (1 − t) ln(1 − g(z))      z (…, C), targets t (…, C) in [0, 1]
    dz       = (g(z) − t) / N

With one output, C = 1, it is the binary cross-entropy, and targets may be (…).
"""

from typing import Any

import numpy as np

from minisig.backends import Array, Backend
from minisig.errors import UsageError
from minisig.losses.base import Loss, Sums, checked_values


class SigmoidCrossEntropy(Loss):
    """−ln of the probability of every right answer, g(z) for yes."""

    metric_names = ("error",)

    def checked(self, z: Array, targets: Any, backend: Backend) -> Array:
        targets = checked_values(z, targets, backend)
        if isinstance(targets, np.ndarray):  # a look at those on a device would wait for it
            least, most = targets.real.min(initial=0), targets.real.max(initial=0)
            if not 0 <= least <= most <= 1:
                raise UsageError(f"expected targets from 0 to 1, got {least} to {most}")
        return targets

    def rows(self, z: Array, targets: Array, backend: Backend) -> tuple[Array, Array]:
        return backend.sigmoid_cross_entropy(z, targets)

    def sums(self, z: Array, targets: Array, backend: Backend, recall: slice | None) -> dict[str, Any]:
        wrong = (z > 0) != (targets > 0.5)
        return {"wrong": int(wrong.sum()), "answers": wrong.size}

    def metrics(self, sums: Sums) -> dict[str, float]:
        """The share of wrong answers in percent."""
        return {"error": 100 * sums["wrong"] / sums["answers"]}
