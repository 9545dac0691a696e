"""A run of a comparison while it is being made, kept where it stands: an interruption need not undo hours of work.

It has a run's folder as any other (training/folder.py), hidden beside the finished ones, until its result takes its
place. Whoever makes the run next goes on from its last checkpoint, to the same bits; one that is damaged is begun anew.
A disk that has no room for it is no reason for the run to fail.
"""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from minisig.errors import CannotWrite, DataError, InUse, writing
from minisig.experiments.results import read_records
from minisig.jsonable import jsonable
from minisig.training.checkpoint import CHECKPOINT, Position
from minisig.training.config import Config
from minisig.training.files import read_config
from minisig.training.folder import FILES, RunFolder
from minisig.training.loop import Record, Training
from minisig.training.run import Stop, Summary, Watch, resume, run


class UnderWay(RunFolder):
    """The run at `path`; all its records are in memory, and on the disk as long as it is `kept`."""

    def __init__(self, path: Path, *, kept: bool = True) -> None:
        super().__init__(path)
        self.kept = kept
        self.records: list[Record] = []

    def make(self, config: Config, watch: Watch | None, stop: Stop | None) -> Summary:
        """The run from where it stands to its end."""
        with suppress(DataError, InUse, CannotWrite):  # not begun yet, damaged, or out of reach
            if self.kept and read_config(self.path) == config:
                return resume(self, watch=watch, stop=stop)
        return run(config, self, watch, stop)

    def claim(self, config: Config) -> None:
        self._keep(self._begin, config)

    def _begin(self, config: Config) -> None:
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock()
            for name in FILES:  # of a run that cannot be gone on with
                (self.path / name).unlink(missing_ok=True)
        self.configure(config)

    def configure(self, config: Config) -> None:
        self._keep(super().configure, config)

    def log(self, record: Mapping[str, Any]) -> None:
        self.records.append(jsonable(record))
        self._keep(super().log, record)

    def flush_metrics(self) -> int:
        return self._keep(super().flush_metrics) or 0

    def rewind_metrics(self, size: int) -> None:
        super().rewind_metrics(size)
        self.records = read_records(self.path)

    def checkpoint(self, training: Training, position: Position) -> None:
        if not training.done:  # or its result will be there at once
            self._keep(super().checkpoint, training, position)

    def finish(self, params: Mapping[str, np.ndarray], summary: Mapping[str, Any]) -> None:
        """The result goes to the comparison, which keeps no parameters."""

    def summary(self) -> None:
        """There is none as long as a run is under way."""

    def _keep(self, write: Callable[..., Any], *args: Any) -> Any:
        """What the disk refuses is not kept, and nothing that comes after it."""
        if self.kept:
            try:
                return write(*args)
            except (CannotWrite, InUse):
                self.kept = False
        return None


def place_of(folder: Path, run: str) -> Path:
    """Where the run is that will be called so when it is finished."""
    return folder / f".{run}"


def tidy(path: Path, *, over: bool) -> None:
    """Remove what nobody will go on with: the rest of a run that is over, or one that had no checkpoint yet."""
    if over or not (path / CHECKPOINT).exists():
        shutil.rmtree(path, ignore_errors=True)
