"""The runs that a report is about, read from their folders as if anybody could have put them there."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from minisig.errors import DataError, printable
from minisig.experiments import PAPER_INITS, known, settings
from minisig.report.metrics import Metrics, NothingLogged, read_metrics
from minisig.report.tables import cropped, setting
from minisig.training.config import Config
from minisig.training.files import read_config, read_file
from minisig.training.records import METRICS, SUMMARY, read_summary

NOT_COMPARED = ("seed", "threads")  # settings in which runs of one kind may differ
OF_TRAINING = ("hold_out", "augment", "steps")  # settings of the data that do not change what a result is about
LONGEST, LONGEST_VALUE = 80, 24  # characters of a name, and of a setting in it
COMPARED = re.compile(r"(?P<row>.+)-seed(?P<seed>\d+)-[0-9a-f]{16}")  # a run of a comparison
TABLE = re.compile(r"comparison(-\d+)?\.json")
Task = tuple[str, ...]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    row: str  # of a comparison's table: an initialization, or one of the experiment's own rows, such as lstm
    config: Config
    summary: Mapping[str, Any] | None  # None of a run that has not finished
    metrics: Metrics
    path: Path

    @property
    def task(self) -> Task:
        """The experiment and its data: only results of the same task can be ranked."""
        return self.config.experiment, *self.data.values(), (self.summary or {}).get("data", "")

    @property
    def data(self) -> dict[str, str]:
        """The settings of its data, on others of which results do not compare."""
        chosen = msgspec.to_builtins(self.config.data)
        return {name: str(value or "") for name, value in chosen.items() if name not in OF_TRAINING}

    @property
    def written(self) -> tuple[bool, int]:
        """Whether it has finished, and when, or when it last logged; the greatest is the last."""
        done = self.summary is not None
        return done, (self.path / (SUMMARY if done else METRICS)).stat().st_mtime_ns


@dataclass(frozen=True)
class FailedRun:
    task: Task
    row: str
    seed: str
    message: str


class ComparedRow(msgspec.Struct, frozen=True):
    init: str
    runs: list[str] = []  # their folders
    failed: dict[str, str] = {}  # by seed, why there is none


class Compared(msgspec.Struct, frozen=True):
    """What the table of a comparison tells of its runs."""

    experiment: str
    rows: list[ComparedRow]


def read_paths(paths: Iterable[Path], tell: Tell = lambda line: None) -> tuple[list[Run], list[FailedRun]]:
    """All runs in these folders, of which each is a run, a comparison or a folder of both; each run once.

    In a folder a run that has not logged anything yet is left out, and `tell` is told.
    """
    runs: dict[Path, Run] = {}
    failures: list[FailedRun] = []
    for path in paths:
        if (path / "config.json").is_file():
            config = read_config(path)
            found = [_read(path, config, _row(config))]
        else:
            found, failed, silent = _read_all(path)
            if not found and silent:
                raise silent[0]
            failures += failed
            for error in silent:
                tell(f"left out: {error}")
        if not found:
            raise DataError(
                f"no run or comparison in {path}: there is no config.json in it, nor in a folder in it or one in that"
            )
        runs |= {run.path.resolve(): run for run in found}
    return sorted(runs.values(), key=_order), list(dict.fromkeys(failures))


def once(runs: Sequence[Run]) -> list[Run]:
    """Of runs that do not even differ in the seed the last to finish: the others tell nothing new."""
    last = {(*_kind(run), run.config.seed): run for run in sorted(runs, key=lambda run: run.written)}
    kept = {run.path for run in last.values()}
    return [run for run in runs if run.path in kept]


def kinds(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that differ in nothing but the seed, under a name that tells them from the others."""
    found: dict[tuple[str, bytes], list[Run]] = {}
    for run in runs:
        found.setdefault(_kind(run), []).append(run)
    compared = {kind: _compared(members[0].config) for kind, members in found.items()}
    told = _told(compared)
    named: dict[str, list[Run]] = {}
    for kind, members in found.items():
        own = compared[kind]
        words = [kind[0], *(f"{name} {setting(own[name], LONGEST_VALUE)}" for name in told if name in own)]
        label = cropped(printable(", ".join(words)), LONGEST)
        named[label if label not in named else f"{label} ({len(named) + 1})"] = members
    return named


def _kind(run: Run) -> tuple[str, bytes]:
    return run.row, msgspec.json.encode(_compared(run.config))


def _told(compared: Mapping[tuple[str, bytes], Mapping[str, Any]]) -> list[str]:
    """The settings in which kinds of the same row differ, which are named with every row then."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for (row, _), own in compared.items():
        rows.setdefault(row, []).append(own)
    names = dict.fromkeys(name for own in compared.values() for name in own)
    return [name for name in names if any(len({str(own.get(name)) for own in row}) > 1 for row in rows.values())]


def _compared(config: Config) -> dict[str, Any]:
    return {name: value for name, value in settings(config).items() if name not in NOT_COMPARED}


def _row(config: Config) -> str:
    own, experiment = settings(config), known(config)
    for name, wanted in experiment.rows.items() if experiment else ():
        if all(own.get(field) == value for field, value in wanted.items()):
            return name
    return config.network.init


def _order(run: Run) -> tuple[Task, int, str, int]:
    """The order of the paper's tables, then what else there is."""
    experiment = known(run.config)
    rows = [*PAPER_INITS, *(experiment.rows if experiment else ())]
    return run.task, rows.index(run.row) if run.row in rows else len(rows), run.row, run.config.seed


def _read_all(folder: Path) -> tuple[list[Run], list[FailedRun], list[NothingLogged]]:
    """The runs in a folder and in the comparisons in it, what failed there, and runs that have logged nothing yet."""
    runs: list[Run] = []
    failures: list[FailedRun] = []
    silent: list[NothingLogged] = []
    for inner in (folder, *(path for path, is_run in _folders(folder).items() if not is_run)):
        found = []
        for path in (path for path, is_run in _folders(inner).items() if is_run):
            try:
                found.append(_read_named(path))
            except NothingLogged as error:
                if (path / SUMMARY).exists():  # its log is lost
                    raise
                silent.append(error)
        runs += found
        failures += _failures(inner, found)
    return runs, failures, silent


def _folders(folder: Path) -> dict[Path, bool]:
    """The folders in a folder, but for those that are being written, and whether each is a run."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        return {path: (path / "config.json").is_file() for path in paths}
    except OSError as error:
        raise DataError(f"no run or comparison in {folder}: {error.strerror or error}") from None


def _read_named(path: Path) -> Run:
    """A run that may be a comparison's, by the name of its folder."""
    config = read_config(path)
    named = COMPARED.fullmatch(path.name)
    row, seed = (named["row"], int(named["seed"])) if named else (_row(config), config.seed)
    if row not in (config.network.init, _row(config)) or seed != config.seed:
        raise DataError(
            f"{path}: its config.json is that of {_row(config)}, seed {config.seed}, not that of the run it is "
            f"named after; leave this folder out"
        )
    return _read(path, config, row)


def _failures(folder: Path, runs: Sequence[Run]) -> list[FailedRun]:
    """What the tables of the comparisons in a folder tell of runs that have no folder."""
    failures = []
    for path in sorted(path for path in folder.glob("comparison*.json") if TABLE.fullmatch(path.name)):
        try:
            content = msgspec.json.decode(read_file(path), type=Compared)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}: {error}") from None
        named = {name for row in content.rows for name in row.runs}  # none by an older minisig
        compared = [
            run for run in runs if (run.path.name in named if named else run.config.experiment == content.experiment)
        ]
        if compared:
            task = max(compared, key=lambda run: run.written).task
            failed = [(row.init, *seed_and_why) for row in content.rows for seed_and_why in row.failed.items()]
            failures += [FailedRun(task, *one) for one in failed]
    return failures


def _read(path: Path, config: Config, row: str) -> Run:
    summary = read_summary(path)
    if summary is not None and summary["iterations"] != config.iterations:  # of the run before it was extended
        summary = None
    log = path / METRICS
    if summary is None and not log.exists():
        raise NothingLogged(f"{path} has not logged anything yet: there is no {log.name} in it")
    return Run(row, config, summary, read_metrics(log), path)
