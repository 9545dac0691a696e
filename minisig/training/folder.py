"""A run's folder on disk.

    config.json             what was asked for
    metrics.jsonl           one line for every logged iteration
    checkpoint.safetensors  where the run stands, see checkpoint.py
    best.safetensors        the parameters that validated best
    summary.json            what came out

Every file but the growing metrics.jsonl appears whole or not at all. One process at a time has the folder.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from minisig.errors import DataError, InUse, UsageError, writing
from minisig.jsonable import jsonable
from minisig.training.checkpoint import CHECKPOINT, Position, save_checkpoint
from minisig.training.config import Config
from minisig.training.files import read_config, read_file, write_file, write_tensors
from minisig.training.loop import Training

FILES = ("config.json", "metrics.jsonl", CHECKPOINT, "best.safetensors", "summary.json")
# What a killed process was writing: our own temporary files, see files.py, and those of safetensors.
LEFT_OVER = re.compile(rf"\.({'|'.join(map(re.escape, FILES))})\.\d+\.tmp|\.tmp[A-Za-z0-9]{{6}}")


class LayerOutcome(msgspec.Struct, frozen=True):
    name: str
    gradient_norm_first: float
    gradient_norm_last: float


class Outcome(msgspec.Struct, frozen=True):
    """What everybody may count on in a summary."""

    experiment: str
    model: str
    init: str
    seed: int
    backend: str
    dtype: str
    iterations: int
    parameters: int
    seconds: float
    best_iteration: int
    train_loss: float
    valid_loss: float
    test_loss: float
    baselines: dict[str, float]
    layers: Annotated[list[LayerOutcome], msgspec.Meta(min_length=1)]
    test_error: float | None = None
    test_perplexity: float | None = None
    test_recall: float | None = None
    data: str = ""  # of a comparison's run, the hash of the user's own


class RunFolder:
    """The folder at `path`; if `numbered`, the first of path, path-2, path-3, … that does not exist yet."""

    def __init__(self, path: Path, *, numbered: bool = False) -> None:
        self.path, self.numbered = path, numbered
        self.lock: FileLock | None = None

    def claim(self, config: Config) -> None:
        """Make the folder this run's own, which must not hold another, by writing the configuration."""
        with writing(self.path):
            if self.numbered:
                self._make_new()
            else:
                if self.path.exists() and not self.path.is_dir():
                    raise UsageError(f"{self.path} is a file; choose a folder for the run")
                self._require_no_run()
                self.path.mkdir(parents=True, exist_ok=True)
            self._lock()
            self._require_no_run()  # still, now that nobody else can come in
        self.configure(config)

    def reopen(self) -> None:
        """Take the folder of a run that has been begun before."""
        read_config(self.path)  # no lock is put where no run is
        with writing(self.path):
            self._lock()

    def configure(self, config: Config) -> None:
        with writing(self.path):
            write_file(self.path / "config.json", msgspec.json.format(msgspec.json.encode(config)))

    def begin(self, training: Training) -> None:
        """Training begins, or goes on from a checkpoint: for those who keep more than this folder does."""

    def log(self, record: Mapping[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with writing(self.path), (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(jsonable(record), allow_nan=False) + "\n")

    def flush_metrics(self) -> int:
        """Bring metrics.jsonl safely to the disk; its size."""
        with writing(self.path), (self.path / "metrics.jsonl").open("a") as file:
            os.fsync(file.fileno())
            return file.tell()

    def rewind_metrics(self, size: int) -> None:
        """Forget what was logged after a checkpoint, a line that was cut off in the middle included."""
        path = self.path / "metrics.jsonl"
        with writing(self.path), path.open("a+b") as file:
            if file.tell() < size:
                raise DataError(f"{path}: has {file.tell():,} bytes, {size:,} when the checkpoint was written")
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                raise DataError(f"{path}: no line ends where the checkpoint was written, at byte {size:,}")
            file.truncate(size)

    def checkpoint(self, training: Training, position: Position) -> None:
        with writing(self.path):
            save_checkpoint(self.path, training, position)

    def finish(self, params: Mapping[str, np.ndarray], summary: Mapping[str, Any]) -> None:
        """Write the selected parameters and, last of all, the summary."""
        with writing(self.path):
            write_tensors(self.path / "best.safetensors", params)
            content = json.dumps(jsonable(summary), indent=2, allow_nan=False)
            write_file(self.path / "summary.json", content.encode())

    def summary(self) -> dict[str, Any] | None:
        """What a finished run wrote."""
        path = self.path / "summary.json"
        if not path.exists():
            return None
        try:
            summary = msgspec.json.decode(read_file(path), type=dict[str, Any])
            msgspec.convert(summary, Outcome)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}: {error}") from None
        summary = {name: value for name, value in summary.items() if value is not None}
        if "test_error" not in summary and "test_perplexity" not in summary:
            raise DataError(f"{path}: has neither a test_error nor a test_perplexity")
        return summary

    def release(self) -> None:
        if self.lock:
            self.lock.release()

    def _require_no_run(self) -> None:
        if any((self.path / name).exists() for name in FILES):
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

    def _lock(self) -> None:
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InUse(f"{self.path} is in use by another process") from None
        self.lock = lock
        for path in self.path.glob(".*"):
            if LEFT_OVER.fullmatch(path.name):
                path.unlink(missing_ok=True)
