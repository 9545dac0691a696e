"""Data: embedded, generated, or the user's own files, all as a `Dataset`.

dataset.py      a Dataset, its parts and its batches; sequences.py has those of tokens
digits.py       1,797 handwritten digits of 8×8 pixels, in the package
xor.py          four Gaussians, the paper's smallest problem
mnist.py        the real thing, from IDX files
copy_memory.py  three symbols to be remembered
text.py         the Penn Treebank, the tales in the package, or a text of the user's own
tables.py       a table of the user's own: guesses.py says what its columns are for, holdout.py which rows are held out,
                told.py tells a person of it; frame.py has it in memory, read by delimited.py, whose form forms.py
                finds out, or by parquet.py; cells.py knows what a cell says
files.py        the user's own arrays; scaling.py brings what is in them into [−1, 1]
prepared.py     how all of it becomes what a network takes, kept with the model; hashes.py knows it again
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
