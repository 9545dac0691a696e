"""Data: embedded, generated, or the user's own files, all as a `Dataset`.

dataset.py      a Dataset, its parts and its batches; sequences.py has those of tokens
digits.py       1,797 handwritten digits of 8×8 pixels, in the package
xor.py          four Gaussians, the paper's smallest problem
mnist.py        the real thing, from IDX files
copy_memory.py  three symbols to be remembered
text.py         the Penn Treebank, or a folder of text
files.py        .npz and .csv; scaling.py brings what is in them into [−1, 1]
sources.py      all of these by name; config.py has the settings under data, load.py loads what they say
augment.py      distorted images, and ahead.py, which makes them beside training
public.py       where MNIST and the Penn Treebank come from; fetch.py, download.py and archives.py bring them here,
                folder.py knows where that is, and raw.py reads what nobody vouches for
"""

from minisig.data.config import DataConfig
from minisig.data.dataset import Batch, Batches, Dataset, Part, Split
from minisig.data.files import load_file
from minisig.data.load import load
from minisig.data.sequences import Sequences, Text
from minisig.data.sources import SOURCES, source_for

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
    "source_for",
]
