"""Mean squared error: C numbers, the outputs themselves.

    loss   L = (1/NC) Σ_i Σ_c (z − t)²                              z and targets t (…, C)
    dz       = 2 (z − t) / NC

Targets of one output, C = 1, may be (…).
"""

from typing import Any

import numpy as np

from minisig.backends import Array, Backend
from minisig.gradients import rows
from minisig.losses.base import Loss, Sums, checked_values


class MeanSquaredError(Loss):
    """(z − t)², the mean over all outputs."""

    metric_names = ("rmse", "mae", "r2")

    def __init__(self, units: Any = None) -> None:
        self.units = 1.0 if units is None else np.asarray(units, np.float64)  # (C,): of the targets, in a target's 1

    def checked(self, z: Array, targets: Any, backend: Backend) -> Array:
        return checked_values(z, targets, backend)

    def rows(self, z: Array, targets: Array, backend: Backend) -> tuple[Array, Array]:
        return backend.squared_error(z, targets)

    def sums(self, z: Array, targets: Array, backend: Backend, recall: slice | None) -> dict[str, Any]:
        t, d = (backend.to_host(rows(a).astype("float64")) * self.units for a in (targets, z - targets))
        found = {"squares": (d * d).sum(axis=0), "sizes": abs(d).sum(axis=0)}
        return found | {"targets": t.sum(axis=0), "squared_targets": (t * t).sum(axis=0)}

    def metrics(self, sums: Sums) -> dict[str, float]:
        """Root mean squared and mean absolute error, and the share of the targets' variance that is explained.

        r2 is the mean over the outputs that vary, and 0 if none does.
        """
        N = sums["count"]
        spread = sums["squared_targets"] - sums["targets"] ** 2 / N
        varied = spread > 1e-12 * sums["squared_targets"]
        explained = 1 - sums["squares"][varied] / spread[varied]
        return {
            "rmse": float(np.sqrt(sums["squares"].mean() / N)),
            "mae": float(sums["sizes"].mean() / N),
            "r2": float(explained.mean()) if varied.any() else 0.0,
        }
