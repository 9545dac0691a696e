"""The runs of a comparison and what they brought, in memory and on disk.

A run is known by the hash of its identity, see identity.py, and its folder is called after it. On this machine it is a
run as any other, made in a hidden folder beside that name, which it gets when it is finished: an interrupted one goes
on from its last checkpoint, to the same bits, one that is damaged is begun anew. From a cluster only results come.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from time import sleep
from typing import Any

from minisig.errors import CannotWrite, DataError, InUse, UsageError, writing
from minisig.experiments import compared, known
from minisig.experiments.identity import identity, known_by
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.config import Config
from minisig.training.files import read_config, write_config, write_file
from minisig.training.folder import LOCK, RunFolder
from minisig.training.model_file import BEST
from minisig.training.observers import Observers
from minisig.training.records import (
    METRICS,
    SUMMARY,
    Record,
    Summary,
    encode_record,
    read_records,
    read_summary,
    write_summary,
)
from minisig.training.run import resume, run

SECONDS_BETWEEN_LOOKS = 0.2  # whether another process has finished the same run
SECONDS_TO_END = 2.0  # that a process which was told to end may take


@dataclass(frozen=True)
class Job:
    """One run of a comparison."""

    row: str
    config: Config
    data: str = ""  # the hash of the user's own, which may change under the same path; compare finds it out
    shared: str = ""  # the hash of what all runs of its comparison have in common

    @property
    def folder(self) -> str:
        return f"{self.row}-seed{self.config.seed}-{known_by(identity(self.config), self.data.encode())}"


@dataclass(frozen=True)
class Result:
    """What a finished run brought."""

    job: Job
    summary: Mapping[str, Any]
    metrics: Sequence[Record]


def make(config: Config, path: Path, data: str, observers: Observers = ()) -> None:
    """The run from where it stands to its end, when it is at `path`; one that another process makes is waited for."""
    folder = RunFolder(unfinished(path), anew=True)
    while not path.is_dir():
        try:
            with folder.lock():
                if path.is_dir():  # it has just been finished
                    break
                summary = _made(config, folder, observers)
                _require_metric(summary, config)
                with writing(path):
                    if data:
                        write_summary(folder.path, summary | {"data": data})
                    for name in (CHECKPOINT, BEST):
                        (folder.path / name).unlink(missing_ok=True)
                    folder.path.rename(path)
                    (path / LOCK).unlink(missing_ok=True)
        except InUse:
            sleep(SECONDS_BETWEEN_LOOKS)
        except CannotWrite:
            if not path.is_dir():  # or somebody else has finished it meanwhile
                raise


def _made(config: Config, folder: RunFolder, observers: Observers) -> Summary:
    with suppress(DataError, UsageError):  # not begun yet, or damaged
        if read_config(folder.path) == config and read_records(folder.path / METRICS):
            return resume(folder, observers=observers)
    return run(config, folder, observers)


def store(job: Job, folder: Path, summary: Summary, records: Sequence[Record]) -> None:
    """What a worker of a cluster brought, whose disk is not ours."""
    _require_metric(summary, job.config)
    with writing(folder):
        temporary = Path(mkdtemp(dir=folder, prefix=".run-"))
        try:
            write_config(temporary, job.config)
            write_file(temporary / METRICS, b"".join(map(encode_record, records)))
            write_summary(temporary, summary | ({"data": job.data} if job.data else {}))
            temporary.chmod(0o755)
            try:
                temporary.rename(folder / job.folder)
            except OSError:
                if not (folder / job.folder).is_dir():  # somebody else may have finished the same run
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _require_metric(summary: Summary, config: Config) -> None:
    row = known(config)
    if row and not compared(config, summary):
        raise UsageError(f"{config.experiment} compares {row.metric}, which {config.data.source} does not give")


def load(job: Job, folder: Path) -> Result:
    """A run that was finished before; its files are checked, for they may be anybody's."""
    path = folder / job.folder
    try:
        if read_config(path) != job.config:
            raise DataError(f"{path}: its config.json is not that of the run it is named after")
        summary, records = read_summary(path), read_records(path / METRICS)
        if summary is None or not compared(job.config, summary):
            raise DataError(f"{path}: there is no summary.json with the result")
        if not records or records[-1]["iteration"] != summary.get("stopped_iteration", job.config.iterations):
            raise DataError(f"{path / METRICS}: the last iteration is not logged")
        return Result(job, summary, records)
    except DataError as error:
        raise DataError(f"{error}; remove the folder") from None


def unfinished(path: Path) -> Path:
    """Where the run is made that will be at `path` when it is finished."""
    return path.with_name(f".{path.name}")


def tidy(path: Path, *, over: bool) -> None:
    """Remove what nobody will go on with: the rest of a run that is over, or one that had no checkpoint yet."""
    if path.is_dir():
        with suppress(InUse, CannotWrite), RunFolder(path).lock(SECONDS_TO_END):
            if over or not ((path / CHECKPOINT).exists() or (path / SUMMARY).exists()):
                shutil.rmtree(path, ignore_errors=True)
