"""The records of a run as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minisig.errors import DataError, printable
from minisig.training import records


class NothingLogged(DataError):
    """A run has only just begun, or was killed before its first iteration was logged."""


@dataclass(frozen=True)
class Metrics:
    """A row for every logged iteration, NaN where nothing was logged."""

    iterations: np.ndarray  # (N,)
    scalars: Mapping[str, np.ndarray]  # (N,) each; only those that were logged at all
    layers: Sequence[str]  # input first
    norms: np.ndarray  # (N, layers), of the gradients before clipping
    activations: Sequence[str]  # layers that have one
    means: np.ndarray  # (N, activations)
    stds: np.ndarray
    samples: Sequence[tuple[int, str]] = ()  # what a model of texts wrote, and when

    def logged(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The iterations at which a scalar was logged, and its values."""
        values = self.scalars.get(name, np.empty(0))
        there = np.isfinite(values)
        return self.iterations[: len(values)][there], values[there]


def read_metrics(path: Path) -> Metrics:
    found = records.read_records(path)
    if not found:
        raise NothingLogged(f"{path.parent} has not logged anything yet: there is no iteration in its {path.name}")
    layers, activations = list(found[0]["gradient_norm"]), list(found[0].get("activation_mean", {}))
    if not layers or activations != list(found[0].get("activation_std", {})):
        raise DataError(f"{path}: no iteration with its layers is logged in it")
    names = dict.fromkeys(name for record in found for name in records.metrics(record))
    scalars = {name: np.array([record.get(name) for record in found], dtype=float) for name in names}
    return Metrics(
        np.array([record["iteration"] for record in found]),
        {name: values for name, values in scalars.items() if np.isfinite(values).any()},
        [printable(name) for name in layers],
        _table(found, "gradient_norm"),
        [printable(name) for name in activations],
        _table(found, "activation_mean"),
        _table(found, "activation_std"),
        [(record["iteration"], text) for record in found if (text := record.get("sample"))],
    )


def _table(found: Sequence[records.Record], key: str) -> np.ndarray:
    return np.array([list(record.get(key, {}).values()) for record in found], dtype=float)
