"""metrics.jsonl as arrays, checked line by line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from minisig.errors import DataError, printable
from minisig.training.files import read_file

Means = dict[str, float | None]  # of every layer
Norms = dict[str, Annotated[float, msgspec.Meta(ge=0)] | None]
SCALARS = ("train_loss", "valid_loss", "valid_error", "valid_recall")


class NothingLogged(DataError):
    """A run has only just begun, or was killed before its first iteration was logged."""


class Line(msgspec.Struct, frozen=True):
    """What a report uses of a record; None for a number that was not finite."""

    iteration: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    gradient_norm: Norms
    activation_mean: Means = {}
    activation_std: Norms = {}
    train_loss: float | None = None
    valid_loss: float | None = None
    valid_error: float | None = None
    valid_recall: float | None = None


@dataclass(frozen=True)
class Metrics:
    """A row for every logged iteration, NaN where nothing was logged."""

    iterations: np.ndarray  # (N,)
    scalars: Mapping[str, np.ndarray]  # (N,) each; only those that were logged at all
    layers: Sequence[str]  # input first
    norms: np.ndarray  # (N, layers), of the gradients before clipping
    activities: Sequence[str]
    means: np.ndarray  # (N, activities)
    stds: np.ndarray

    def logged(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The iterations at which a scalar was logged, and its values."""
        values = self.scalars.get(name, np.empty(0))
        there = np.isfinite(values)
        return self.iterations[: len(values)][there], values[there]


def read_metrics(path: Path) -> Metrics:
    """All whole lines; the last may be one that a run is writing just now, or was when it was killed."""
    content = read_file(path)
    whole = content.count(b"\n")
    if not whole:
        raise NothingLogged(f"{path.parent} has not logged anything yet: there is no iteration in its {path.name}")
    decoder = msgspec.json.Decoder(Line)
    lines: list[Line] = []
    layers: list[str] = []
    for number, text in enumerate(islice(BytesIO(content), whole), 1):
        try:
            line = decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: {error}") from None
        layers = layers or _layers(line)
        if _layers(line) != layers or (lines and line.iteration <= lines[-1].iteration):
            raise DataError(f"{path}, line {number}: its layers, or its iteration, do not follow the line before")
        lines.append(line)
    if not lines[0].gradient_norm or lines[0].activation_mean.keys() != lines[0].activation_std.keys():
        raise DataError(f"{path}: no iteration with its layers is logged in it")
    scalars = {name: np.array([getattr(line, name) for line in lines], dtype=float) for name in SCALARS}
    return Metrics(
        np.array([line.iteration for line in lines]),
        {name: values for name, values in scalars.items() if np.isfinite(values).any()},
        [printable(name) for name in lines[0].gradient_norm],
        np.array([list(line.gradient_norm.values()) for line in lines], dtype=float),
        [printable(name) for name in lines[0].activation_mean],
        np.array([list(line.activation_mean.values()) for line in lines], dtype=float),
        np.array([list(line.activation_std.values()) for line in lines], dtype=float),
    )


def _layers(line: Line) -> list[str]:
    return [*line.gradient_norm, *line.activation_mean, *line.activation_std]
