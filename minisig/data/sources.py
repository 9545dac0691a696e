"""Where data come from, by name.

A source is a function (config, seed) -> Dataset, with `config` the settings under `data`. What can be set about it is
its class `Settings`, and those settings are attributes of `config`. `takes_path` says that it reads data.path, and
`sequences` that its data are sequences, in whose place a user's own text can be put. Those that find out from the data
how they are to be prepared take `prepared`, too: what a trained model was prepared by.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from minisig.data.copy_memory import make_copy_memory
from minisig.data.dataset import Dataset
from minisig.data.digits import load_digits
from minisig.data.files import load_file
from minisig.data.frame import is_table
from minisig.data.mnist import load_mnist
from minisig.data.tables import TableSettings, load_table
from minisig.data.text import PTBSettings, Steps, TextSettings, load_ptb, load_text
from minisig.data.xor import make_xor
from minisig.plugins import Table
from minisig.settings import Settings


class Source:
    """One of our own sources."""

    def __init__(
        self,
        load: Callable[..., Dataset],
        settings: type[Settings] | None = None,
        *,
        takes_path: bool | None = False,
        sequences: bool = False,
        prepares: bool = False,
    ) -> None:
        self.load, self.Settings, self.takes_path, self.sequences = load, settings, takes_path, sequences
        self.prepares = prepares

    def __call__(self, config: Any, seed: int, **prepared: Any) -> Dataset:
        return self.load(config, seed, **prepared)


class CopyMemorySettings(Settings, frozen=True):
    delay: Steps = 100  # steps between symbols and recall, the paper's T


SOURCES: Table[Callable[[Any, int], Dataset]] = Table(
    "data",
    {
        "digits": Source(lambda config, seed: load_digits()),
        "xor": Source(lambda config, seed: make_xor(seed)),
        "mnist": Source(lambda config, seed: load_mnist()),
        "copy-memory": Source(
            lambda config, seed: make_copy_memory(seed, config.delay), CopyMemorySettings, sequences=True
        ),
        "ptb": Source(lambda config, seed: load_ptb(config.steps, config.vocabulary), PTBSettings, sequences=True),
        # The user's own, at data.path: a table, an .npz file, a folder of IDX files, a folder of text.
        "table": Source(
            lambda config, seed, prepared=None: load_table(Path(config.path), config, prepared),
            TableSettings,
            takes_path=True,
            prepares=True,
        ),
        "file": Source(
            lambda config, seed, prepared=None: load_file(Path(config.path), prepared), takes_path=True, prepares=True
        ),
        "images": Source(lambda config, seed: load_mnist(Path(config.path)), takes_path=True),
        "text": Source(
            lambda config, seed, prepared=None: load_text(config.path and Path(config.path), config, prepared),
            TextSettings,
            takes_path=None,  # without one there is a text in the package
            sequences=True,
            prepares=True,
        ),
    },
)


def source_for(path: str, instead_of: str) -> str:
    """The source that reads the user's own data at `path`, put in the place of another source's."""
    if getattr(SOURCES[instead_of], "sequences", False):
        return "text"
    return "images" if Path(path).is_dir() else "table" if is_table(path) else "file"
