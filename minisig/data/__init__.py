"""Data: embedded, generated, or the user's own files, all as a `Dataset`.

dataset.py      a Dataset, its parts and its batches; sequences.py has those of tokens
digits.py       1,797 handwritten digits of 8×8 pixels, in the package
xor.py          four Gaussians, the paper's smallest problem
mnist.py        the real thing, from IDX files
copy_memory.py  three symbols to be remembered
text.py         the Penn Treebank, or a folder of text
files.py        .npz and .csv; scaling.py brings what is in them into [−1, 1]
config.py       the settings under data
augment.py      distorted images, and ahead.py, which makes them beside training
public.py       where MNIST and the Penn Treebank come from; fetch.py, download.py and archives.py bring them here,
                folder.py knows where that is, and raw.py reads what nobody vouches for
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minisig.data.config import DataConfig, checked
from minisig.data.copy_memory import make_copy_memory
from minisig.data.dataset import PARTS, Batch, Batches, Dataset, Part, Split
from minisig.data.digits import load_digits
from minisig.data.files import load_file
from minisig.data.mnist import load_mnist
from minisig.data.sequences import Sequences, Text
from minisig.data.text import load_ptb, load_text
from minisig.data.xor import make_xor
from minisig.errors import DataError, MinisigError, UsageError, require_known
from minisig.plugins import Table

OWN: dict[str, Callable[[DataConfig, int], Dataset]] = {
    "digits": lambda config, seed: load_digits(),
    "xor": lambda config, seed: make_xor(seed),
    "mnist": lambda config, seed: load_mnist(),
    "copy-memory": lambda config, seed: make_copy_memory(seed, config.delay),
    "ptb": lambda config, seed: load_ptb(config.steps, config.vocabulary),
}
SOURCES = Table("data", OWN)
# Settings that one of our own sources alone has; a folder of text counts as ptb.
OF_ONE_SOURCE = {"delay": "copy-memory", "steps": "ptb", "vocabulary": "ptb"}


def load(source: str | DataConfig, *, seed: int = 0) -> Dataset:
    """The data set of this name or configuration.

    >>> load("digits").train.x.shape
    (1197, 64)
    """
    config = checked(DataConfig(source=source) if isinstance(source, str) else source, DataConfig)
    data = _load(config, seed)
    return data if config.hold_out else _nothing_held_out(data)


def _load(config: DataConfig, seed: int) -> Dataset:
    require_known("data set", config.source, SOURCES)
    own_text = config.path is not None and config.source in ("copy-memory", "ptb")
    if config.source in OWN:  # a plugin's may use any setting, but for the path, which stands for other data
        _require_own_settings(config, "ptb" if own_text else config.source)
    if config.path is None:
        return _checked(SOURCES[config.source](config, seed), config.source)
    path = Path(config.path)
    if own_text:
        return load_text(path, config.steps, config.vocabulary)
    return load_mnist(path) if path.is_dir() else load_file(path)


def _nothing_held_out(data: Dataset) -> Dataset:
    if not isinstance(data.train, Split):
        raise UsageError(f"the data of {data.name} are sequences: data.hold_out=false is for vectors")
    x, y = (np.concatenate([getattr(part, name) for part in (data.train, data.valid)]) for name in ("x", "y"))
    return replace(data, train=Split(x, y))


def _require_own_settings(config: DataConfig, source: str) -> None:
    for name, owner in OF_ONE_SOURCE.items():
        if source != owner and getattr(config, name) != getattr(DataConfig(source=source), name):
            kind = "text" if owner == "ptb" else owner
            raise UsageError(f"data.{name} is a setting of {kind}; leave it out for {config.path or source}")


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
        if part.x.ndim != 2 or not len(part.x) or part.y.shape != (len(part.x),) or part.y.dtype.kind not in "iu":
            raise DataError(
                f"data '{source}': expected x (N, n) and integer labels y (N,) for {name}, got {part.x.shape} and "
                f"{part.y.dtype} {part.y.shape}"
            )
        if not (part.y.min() >= 0 and part.y.max() < data.classes):
            raise DataError(f"data '{source}': the labels of {name} are not all among 0 … {data.classes - 1}")
    return data


__all__ = [
    "SOURCES",
    "Batch",
    "Batches",
    "DataConfig",
    "Dataset",
    "Part",
    "Sequences",
    "Split",
    "Text",
    "load",
    "load_file",
]
