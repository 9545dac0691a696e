"""Data: the embedded digits, generated problems, and the user's own files, all as a `Dataset`.

digits.py   1,797 handwritten digits of 8×8 pixels, in the package
xor.py      four Gaussians, the paper's smallest problem
files.py    .npz and .csv
"""

from pathlib import Path

from minisig.data.dataset import Dataset, Split
from minisig.data.digits import load_digits
from minisig.data.files import load_file
from minisig.data.xor import make_xor
from minisig.errors import require_known

SOURCES = {"digits": lambda seed: load_digits(), "xor": make_xor}


def load(source: str, *, path: str | None = None, seed: int = 0) -> Dataset:
    """The data set called `source`, or the user's file at `path`."""
    if path is not None:
        return load_file(Path(path))
    require_known("data set", source, SOURCES)
    return SOURCES[source](seed)


__all__ = ["Dataset", "Split", "load", "load_file"]
