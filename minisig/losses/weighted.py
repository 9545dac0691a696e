"""Another loss, to which every prediction adds as much as its weight says.

loss   L = (1/N) Σ_i w_i L_i                                    weights w (…), one for each row of z (…, C)
dz_i     = w_i · (that of the other loss)

Weights of mean 1 keep the loss and its gradient at their usual size. The weights come with the targets, batch by batch.
"""

from dataclasses import dataclass
from typing import Any

from minisig.backends import Array, Backend
from minisig.errors import UsageError
from minisig.losses.base import Loss


@dataclass(frozen=True)
class WeightedTargets:
    """Targets (N, …) and their weights (N,), of which one takes rows as of an array."""

    targets: Any
    weights: Any

    def __getitem__(self, rows: Any) -> "WeightedTargets":
        return WeightedTargets(self.targets[rows], self.weights[rows])


class Weighted(Loss):
    """w_i L_i, L_i the loss of prediction i by another loss, whose metrics it leaves out: they know no weights.

    >>> import numpy as np
    >>> from minisig.backends import get_backend
    >>> from minisig.losses import MeanSquaredError
    >>> z, targets = np.array([[1.0], [3.0]]), np.array([0.0, 0.0])
    >>> loss, dz = Weighted(MeanSquaredError())(z, WeightedTargets(targets, np.array([2.0, 0.0])), get_backend("numpy"))
    >>> float(loss), dz.tolist()
    (1.0, [[2.0], [0.0]])
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def checked(self, z: Array, targets: Any, backend: Backend) -> Any:
        if not isinstance(targets, WeightedTargets):
            raise UsageError(f"expected targets with weights, WeightedTargets, got {type(targets).__name__}")
        weights = backend.asarray(targets.weights)
        if weights.shape != z.shape[:-1]:
            raise UsageError(f"expected weights of shape {z.shape[:-1]}, one for each prediction, got {weights.shape}")
        return WeightedTargets(self.loss.checked(z, targets.targets, backend), weights)

    def rows(self, z: Array, targets: Any, backend: Backend) -> tuple[Array, Array]:
        losses, dz = self.loss.rows(z, targets.targets, backend)
        return targets.weights * losses, targets.weights[:, None] * dz

    @staticmethod
    def _flat(targets: Any, z: Array) -> Any:
        return WeightedTargets(*(Loss._flat(part, z) for part in (targets.targets, targets.weights)))
