"""The runs that a report is about, read from their folders as if anybody could have put them there."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from minisig.errors import DataError, printable
from minisig.experiments import EXPERIMENTS, PAPER_INITS, settings
from minisig.report.metrics import Metrics, read_metrics
from minisig.report.tables import cropped
from minisig.training.config import Config
from minisig.training.files import read_config, read_file
from minisig.training.folder import RunFolder

NOT_COMPARED = ("seed", "threads")  # settings in which runs of one kind may differ
LONGEST = 80  # characters of a name
COMPARED = re.compile(r"(?P<row>.+)-seed(?P<seed>\d+)-[0-9a-f]{16}")  # a run of a comparison


@dataclass(frozen=True)
class Run:
    row: str  # of a comparison's table: an initialization, or one of the experiment's own rows, such as lstm
    config: Config
    summary: Mapping[str, Any] | None  # None of a run that has not finished
    metrics: Metrics
    path: Path


@dataclass(frozen=True)
class Failure:
    experiment: str
    row: str
    seed: str
    message: str


class FailedRow(msgspec.Struct, frozen=True):
    init: str
    failed: dict[str, str] = {}


class FailedRows(msgspec.Struct, frozen=True):
    """What comparison.json tells of runs that have no folder."""

    experiment: str
    rows: list[FailedRow]


def read_paths(paths: Iterable[Path]) -> tuple[list[Run], list[Failure]]:
    """All runs in these folders, of which each is a run, a comparison or a folder of runs; each run once."""
    runs: dict[Path, Run] = {}
    failures: list[Failure] = []
    for path in paths:
        if (path / "config.json").is_file():
            config = read_config(path)
            found = [_read(path, config, _row(config))]
        else:
            found = list(_runs_in(path))
            failures += _failures(path)
        if not found:
            raise DataError(f"no run or comparison in {path}: there is no config.json in it, nor in a folder in it")
        runs |= {run.path.resolve(): run for run in found}
    return sorted(runs.values(), key=_place), failures


def kinds(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that differ in nothing but the seed, under a name that tells them from the others."""
    found: dict[tuple[str, bytes], list[Run]] = {}
    for run in runs:
        found.setdefault((run.row, msgspec.json.encode(_compared(run.config))), []).append(run)
    compared = {kind: _compared(members[0].config) for kind, members in found.items()}
    named: dict[str, list[Run]] = {}
    for kind, members in found.items():
        own, alike = compared[kind], [other for (row, _), other in compared.items() if row == kind[0]]
        differ = [f"{name} {value}" for name, value in own.items() if any(other.get(name) != value for other in alike)]
        label = cropped(printable(", ".join([kind[0], *differ])), LONGEST)
        named[label if label not in named else f"{label} ({len(named) + 1})"] = members
    return named


def _compared(config: Config) -> dict[str, Any]:
    return {name: value for name, value in settings(config).items() if name not in NOT_COMPARED}


def _row(config: Config) -> str:
    own, known = settings(config), EXPERIMENTS.get(config.experiment)
    for name, wanted in known.rows.items() if known else ():
        if all(own.get(setting) == value for setting, value in wanted.items()):
            return name
    return config.network.init


def _place(run: Run) -> tuple[str, int, str, int]:
    """The order of the paper's tables, then what else there is."""
    known = EXPERIMENTS.get(run.config.experiment)
    rows = [*PAPER_INITS, *(known.rows if known else ())]
    return run.config.experiment, rows.index(run.row) if run.row in rows else len(rows), run.row, run.config.seed


def _runs_in(folder: Path) -> Iterator[Run]:
    """The runs in a folder, a comparison's or any other."""
    try:
        paths = sorted(path for path in folder.iterdir() if (path / "config.json").is_file())
    except OSError as error:
        raise DataError(f"no run or comparison in {folder}: {error.strerror or error}") from None
    for path in paths:
        if path.name.startswith("."):  # being written
            continue
        config = read_config(path)
        named = COMPARED.fullmatch(path.name)
        row, seed = (named["row"], int(named["seed"])) if named else (_row(config), config.seed)
        if row not in (config.network.init, _row(config)) or seed != config.seed:
            raise DataError(
                f"{path}: its config.json is that of {_row(config)}, seed {config.seed}, not that of the run it is "
                f"named after; leave this folder out"
            )
        yield _read(path, config, row)


def _failures(folder: Path) -> list[Failure]:
    path = folder / "comparison.json"
    if not path.is_file():
        return []
    try:
        content = msgspec.json.decode(read_file(path), type=FailedRows)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from None
    return [
        Failure(content.experiment, row.init, seed, message)
        for row in content.rows
        for seed, message in row.failed.items()
    ]


def _read(path: Path, config: Config, row: str) -> Run:
    summary = RunFolder(path).summary()
    if summary is not None and summary["iterations"] != config.iterations:  # of the run before it was extended
        summary = None
    if summary is not None:
        summary = {name: value for name, value in summary.items() if value is not None}
        if not summary.keys() & {"test_error", "test_perplexity"} or not summary["layers"]:
            raise DataError(f"{path / 'summary.json'}: has no result, or no layers")
    return Run(row, config, summary, read_metrics(path / "metrics.jsonl"), path)
