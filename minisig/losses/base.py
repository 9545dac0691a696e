"""What a loss is: a mean over the N predictions of a batch, and the metrics that go with it."""

from collections.abc import Mapping
from typing import Any, ClassVar

from minisig.backends import Array, Backend
from minisig.errors import UsageError
from minisig.gradients import rows

Sums = Mapping[str, Any]  # over predictions, by name: floats, or arrays of one for each output


class Score(dict[str, float]):
    """Metrics by name, "loss" first; score.error is score["error"]."""

    def __getattr__(self, name: str) -> float:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name}, but {', '.join(self)}") from None


class Loss:
    """L(z, targets) of logits z (…, C). A loss of one's own overrides these four."""

    metric_names: ClassVar[tuple[str, ...]] = ()  # that it may have beside the loss, by which the best can be selected

    def checked(self, z: Array, targets: Any, backend: Backend) -> Array:
        """The targets as this loss takes them, or a UsageError that says what it expects."""
        raise NotImplementedError

    def rows(self, z: Array, targets: Array, backend: Backend) -> tuple[Array, Array]:
        """The loss of every row of z (N, C), (N,), and the gradient of their mean with respect to z, (N, C)."""
        raise NotImplementedError

    def sums(self, z: Array, targets: Array, backend: Backend, recall: slice | None) -> dict[str, Any]:
        """What the metrics are made of, summed over these predictions; `recall` are steps that ask for memory."""
        return {}

    def metrics(self, sums: Sums) -> dict[str, float]:
        """The metrics beside the loss, from the sums over all windows and their "count" of predictions."""
        return {}

    def __call__(self, z: Array, targets: Any, backend: Backend) -> tuple[Array, Array]:
        """(L, dz) from logits z (…, C) and their targets; L stays on the device."""
        losses, dz = self.rows(rows(z), self._flat(self.checked(z, targets, backend), z), backend)
        return losses.mean(), dz.reshape(z.shape)

    def tally(self, z: Array, targets: Any, backend: Backend, recall: slice | None = None) -> dict[str, Any]:
        """The sums of one window, those of the loss and the count included; windows are added up by name."""
        targets = self.checked(z, targets, backend)
        losses = self.rows(rows(z), self._flat(targets, z), backend)[0]
        count = rows(z).shape[0]
        return {"loss": float(losses.sum(dtype="float64")), "count": count} | self.sums(z, targets, backend, recall)

    def score(self, sums: Sums) -> Score:
        """The metrics of everything that was tallied."""
        return Score({"loss": sums["loss"] / sums["count"]} | self.metrics(sums))

    @staticmethod
    def _flat(targets: Array, z: Array) -> Array:
        """A row, or an entry, for each row of z (N, C)."""
        return targets.reshape(-1) if targets.ndim < z.ndim else rows(targets)


def checked_values(z: Array, targets: Any, backend: Backend) -> Array:
    """Targets that are numbers, one for each output: (…, C) for z (…, C), or (…,) where C is 1."""
    try:
        targets = backend.asarray(targets)
    except (TypeError, ValueError):
        raise UsageError(f"expected targets that are numbers, got {type(targets).__name__}") from None
    if targets.shape == z.shape[:-1] and z.shape[-1] == 1:
        targets = targets.reshape(z.shape)
    if targets.shape != z.shape:
        raise UsageError(f"expected targets of shape {z.shape}, one for each output, got {targets.shape}")
    return targets
