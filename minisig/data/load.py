"""A data set by its name or its settings, whoever made it checked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minisig.data.config import DataConfig
from minisig.data.dataset import PARTS, Dataset, Split
from minisig.data.prepared import Prepared
from minisig.data.sources import SOURCES
from minisig.errors import DataError, MinisigError, UsageError
from minisig.settings import checked


def load(source: str | Mapping[str, Any] | DataConfig, *, seed: int = 0, prepared: Prepared | None = None) -> Dataset:
    """The data set of this name, or with these settings, as DataConfig or {"source": "copy-memory", "delay": 50}.

    `prepared` is what a trained model takes its data by: its scaling, categories and words in place of those that the
    data ask for now.

    >>> load("digits").train.x.shape
    (1197, 64)
    """
    config = checked(DataConfig(source=source) if isinstance(source, str) else source, DataConfig, "data.")
    row = SOURCES[config.source]
    takes_path = getattr(row, "takes_path", None)  # None: it does without, too
    if takes_path is not None and takes_path != (config.path is not None):
        needed = (
            "is read from data.path: give it" if config.path is None else "has data of its own: leave out data.path"
        )
        raise UsageError(f"the source {config.source} {needed}")
    known = {"prepared": prepared} if prepared and getattr(row, "prepares", False) else {}
    data = _checked(row(config, seed, **known), config.source)
    return data if config.hold_out else _nothing_held_out(data)


def _nothing_held_out(data: Dataset) -> Dataset:
    if not isinstance(data.train, Split):
        raise UsageError(f"the data of {data.name} are sequences: data.hold_out=false is for vectors")
    x, y = (np.concatenate([getattr(part, name) for part in (data.train, data.valid)]) for name in ("x", "y"))
    rows = {**data.rows, "train": np.concatenate([data.rows["train"], data.rows["valid"]])} if data.rows else {}
    return replace(data, train=Split(x, y), rows=rows)


def _checked(data: Any, source: str) -> Dataset:
    """What a source gave, which anybody may have written."""
    if not isinstance(data, Dataset):
        raise MinisigError(f"data '{source}': expected a Dataset, got {type(data).__name__}")
    for name in PARTS:
        part = getattr(data, name)
        if not isinstance(part, Split):
            continue
        if not (isinstance(part.x, np.ndarray) and isinstance(part.y, np.ndarray)):
            kinds = f"{type(part.x).__name__} and {type(part.y).__name__}"
            raise DataError(f"data '{source}': expected x and y of {name} as NumPy's arrays, got {kinds}")
        labels = data.loss == "softmax-cross-entropy"
        shapes = (
            [(len(part.x),)] if labels else [(len(part.x), data.classes), (len(part.x),)][: 1 + (data.classes == 1)]
        )
        kinds = "iu" if labels else "fiub"
        if part.x.ndim != 2 or not len(part.x) or part.y.shape not in shapes or part.y.dtype.kind not in kinds:
            wanted = "integer labels y (N,)" if labels else f"targets y (N, {data.classes})"
            raise DataError(
                f"data '{source}': expected x (N, n) and {wanted} for {name}, got {part.x.shape} and "
                f"{part.y.dtype} {part.y.shape}"
            )
        if labels and not (part.y.min() >= 0 and part.y.max() < data.classes):
            raise DataError(f"data '{source}': the labels of {name} are not all among 0 … {data.classes - 1}")
    return data
