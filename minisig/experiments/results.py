"""The runs of a comparison and what they brought, in memory and on disk.

A run is known by the hash of its full configuration, and of the user's own data. Its result lies in a folder of that
name, which appears whole or not at all.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec

from minisig.errors import DataError, writing
from minisig.experiments import EXPERIMENTS
from minisig.training.config import Config, Count
from minisig.training.files import read_config, read_file, write_file
from minisig.training.folder import RunFolder
from minisig.training.loop import Record


@dataclass(frozen=True)
class Job:
    """One run of a comparison."""

    row: str
    config: Config
    data: str = ""  # the hash of the user's own, which may change under the same path; compare finds it out

    @property
    def folder(self) -> str:
        known_by = sha256(msgspec.json.encode(self.config) + self.data.encode()).hexdigest()[:16]
        return f"{self.row}-seed{self.config.seed}-{known_by}"


@dataclass(frozen=True)
class Result:
    """What a finished run brought."""

    job: Job
    summary: Mapping[str, Any]
    metrics: Sequence[Record]


class Logged(msgspec.Struct, frozen=True):
    """What curves need of a line of metrics.jsonl."""

    iteration: Count
    train_loss: float
    valid_loss: float | None = None
    valid_error: float | None = None


def save(result: Result, folder: Path) -> None:
    final = folder / result.job.folder
    with writing(folder):
        temporary = Path(mkdtemp(dir=folder, prefix=".run-"))
        try:
            metrics = "".join(json.dumps(record, allow_nan=False) + "\n" for record in result.metrics)
            write_file(temporary / "config.json", msgspec.json.format(msgspec.json.encode(result.job.config)))
            write_file(temporary / "metrics.jsonl", metrics.encode())
            summary = {**result.summary, "data": result.job.data} if result.job.data else result.summary
            write_file(temporary / "summary.json", json.dumps(summary, indent=2, allow_nan=False).encode())
            temporary.chmod(0o755)
            try:
                temporary.rename(final)
            except OSError:
                if not final.is_dir():  # somebody else may have finished the same run
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def load(job: Job, folder: Path) -> Result:
    """A run that was finished before; its files are checked, for they may be anybody's."""
    path = folder / job.folder
    try:
        if read_config(path) != job.config:
            raise DataError(f"{path}: its config.json is not that of the run it is named after")
        summary = RunFolder(path).summary()
        if summary is None or EXPERIMENTS[job.config.experiment].metric not in summary:
            raise DataError(f"{path}: there is no summary.json with the result")
        return Result(job, summary, read_records(path))
    except DataError as error:
        raise DataError(f"{error}; remove the folder") from None


def read_records(path: Path) -> list[Record]:
    """All lines of the metrics.jsonl of a run."""
    log = path / "metrics.jsonl"
    try:
        records = [msgspec.json.decode(line, type=dict[str, Any]) for line in read_file(log).splitlines()]
        msgspec.convert(records, list[Logged])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{log}: {error}") from None
    return records
