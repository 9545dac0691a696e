"""Data: embedded, generated, or the user's own files, all as a `Dataset`.

digits.py       1,797 handwritten digits of 8×8 pixels, in the package
xor.py          four Gaussians, the paper's smallest problem
mnist.py        the real thing, from IDX files
copy_memory.py  three symbols to be remembered
text.py         the Penn Treebank, or a folder of text
files.py        .npz and .csv
"""

from collections.abc import Callable
from pathlib import Path

from minisig.data.config import DataConfig
from minisig.data.copy_memory import make_copy_memory
from minisig.data.dataset import Batch, Batches, Dataset, Part, Split
from minisig.data.digits import load_digits
from minisig.data.files import load_file
from minisig.data.mnist import load_mnist
from minisig.data.sequences import Sequences, Text
from minisig.data.text import load_ptb, load_text
from minisig.data.xor import make_xor
from minisig.errors import require_known
from minisig.plugins import Table

SOURCES: Table[Callable[[DataConfig, int], Dataset]] = Table(
    "data",
    {
        "digits": lambda config, seed: load_digits(),
        "xor": lambda config, seed: make_xor(seed),
        "mnist": lambda config, seed: load_mnist(),
        "copy-memory": lambda config, seed: make_copy_memory(seed, config.delay),
        "ptb": lambda config, seed: load_ptb(config.steps, config.vocabulary),
    },
)


def load(source: str | DataConfig, *, seed: int = 0) -> Dataset:
    """The data set of this name or configuration.

    >>> load("digits").train.x.shape
    (1197, 64)
    """
    config = DataConfig(source=source) if isinstance(source, str) else source
    require_known("data set", config.source, SOURCES)
    if config.path is None:
        return SOURCES[config.source](config, seed)
    if config.source in ("copy-memory", "ptb"):
        return load_text(Path(config.path), config.steps, config.vocabulary)
    path = Path(config.path)
    return load_mnist(path) if path.is_dir() else load_file(path)


__all__ = ["Batch", "Batches", "DataConfig", "Dataset", "Part", "Sequences", "Split", "Text", "load"]
