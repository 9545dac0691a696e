"""A run's folder on disk.

    config.json             what was asked for
    metrics.jsonl           one line for every logged iteration
    checkpoint.safetensors  where the run stands, see checkpoint.py
    best.safetensors        the model: the parameters that validated best and how its inputs are made, see model_file.py
    summary.json            what came out

Every file but the growing metrics.jsonl appears whole or not at all. One process at a time has the folder.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from minisig.errors import DataError, InUse, UsageError, writing
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.config import Config
from minisig.training.files import read_config, write_config
from minisig.training.model_file import BEST, ModelInfo, write_model
from minisig.training.records import METRICS, SUMMARY, Record, Summary, encode_record, read_summary, write_summary

FILES = ("config.json", METRICS, CHECKPOINT, BEST, SUMMARY)
LOCK = ".lock"
# What a killed process was writing: our own temporary files, see files.py, and those of safetensors.
LEFT_OVER = re.compile(rf"\.({'|'.join(map(re.escape, FILES))})\.\d+\.tmp|\.tmp[A-Za-z0-9]{{6}}")


class RunFolder:
    """The folder at `path`; if `numbered`, the first of path, path-2, path-3, … that does not exist yet.

    A run that begins `anew` takes the place of one that is there.
    """

    def __init__(self, path: Path | str, *, numbered: bool = False, anew: bool = False) -> None:
        self.path, self.numbered, self.anew = Path(path), numbered, anew
        self._lock: FileLock | None = None

    @classmethod
    def at(cls, folder: "RunFolder | Path | str") -> "RunFolder":
        """The folder that is meant, which may be named by its path."""
        return folder if isinstance(folder, RunFolder) else cls(folder)

    @contextmanager
    def claim(self, config: Config) -> Iterator[None]:
        """Make the folder this run's own, which must not hold another, by writing the configuration."""
        with writing(self.path):
            if self.numbered:
                self._make_new()
            elif self.path.exists() and not self.path.is_dir():
                raise UsageError(f"{self.path} is a file; choose a folder for the run")
            self._require_no_run()
        with self.lock():
            with writing(self.path):
                self._require_no_run()  # still, now that nobody else can come in
                for name in FILES:  # of the run whose place this one takes
                    (self.path / name).unlink(missing_ok=True)
            self.configure(config)
            yield

    @contextmanager
    def reopen(self) -> Iterator[None]:
        """Take the folder of a run that has been begun before."""
        read_config(self.path)  # no lock is put where no run is
        with self.lock():
            yield

    @contextmanager
    def lock(self, timeout: float = 0.0) -> Iterator[None]:
        """Have the folder alone, which no other process must have for longer than `timeout` seconds.

        Whoever has it may lock it again.
        """
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = self._lock = self._lock or FileLock(self.path / LOCK)
            try:
                lock.acquire(timeout=timeout)
            except Timeout:
                raise InUse(f"{self.path} is in use by another process") from None
        try:
            with writing(self.path):
                for path in self.path.glob(".*"):
                    if LEFT_OVER.fullmatch(path.name):
                        path.unlink(missing_ok=True)
            yield
        finally:
            lock.release()

    def configure(self, config: Config) -> None:
        with writing(self.path):
            write_config(self.path, config)

    def log(self, record: Record) -> None:
        """Append one line to metrics.jsonl."""
        with writing(self.path), (self.path / METRICS).open("ab") as file:
            file.write(encode_record(record))

    def flush_metrics(self) -> int:
        """Bring metrics.jsonl safely to the disk; its size."""
        with writing(self.path), (self.path / METRICS).open("ab") as file:
            os.fsync(file.fileno())
            return file.tell()

    def rewind_metrics(self, size: int) -> None:
        """Forget what was logged after a checkpoint, a line that was cut off in the middle included."""
        path = self.path / METRICS
        with writing(self.path), path.open("a+b") as file:
            if file.tell() < size:
                raise DataError(f"{path}: has {file.tell():,} bytes, {size:,} when the checkpoint was written")
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                raise DataError(f"{path}: no line ends where the checkpoint was written, at byte {size:,}")
            file.truncate(size)

    def finish(self, params: Mapping[str, np.ndarray], info: ModelInfo, summary: Summary) -> None:
        """Write the model and, last of all, the summary."""
        with writing(self.path):
            write_model(self.path / BEST, params, info)
            write_summary(self.path, summary)

    def summary(self) -> Summary | None:
        """What a finished run wrote."""
        return read_summary(self.path)

    def _require_no_run(self) -> None:
        if not self.anew and any((self.path / name).exists() for name in FILES):
            raise UsageError(
                f"{self.path} already holds a run; choose another folder, or go on with --resume {self.path}"
            )

    def _make_new(self) -> None:
        first, number = self.path, 1
        while True:
            try:
                self.path.mkdir(parents=True)
                return
            except FileExistsError:
                if not self.path.is_dir():
                    raise
                number += 1
                self.path = first.with_name(f"{first.name}-{number}")
