"""Comparisons: every initialization over several seeds, beside the paper's numbers.

A run is known by the hash of its full configuration, and of the user's own data. Its result lies in a folder of that
name, which appears whole or not at all; so a comparison that was interrupted goes on with the runs that are missing,
and no finished run is ever repeated. The configuration fixes the number of BLAS threads too, on which the last bits of
a matrix product depend: on CPUs of one kind the table is the same, number for number, wherever its runs are made.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from statistics import mean, stdev
from tempfile import mkdtemp
from typing import Any

import msgspec

from minisig.errors import DataError, MinisigError, OutOfMemory, UsageError, require_known, writing
from minisig.experiments import EXPERIMENTS, configure, inits_of, paper_figure
from minisig.experiments.executors import Place, completed, given_up
from minisig.initializers import INITIALIZERS
from minisig.jsonable import jsonable
from minisig.training.build import OF_ONE_MODEL
from minisig.training.config import Config, Count, decode_config
from minisig.training.files import read_config, read_file, write_file
from minisig.training.folder import RunFolder
from minisig.training.loop import Record
from minisig.training.run import Watch, blas_threads, run


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


class Logged(msgspec.Struct, frozen=True):
    """What curves need of a line of metrics.jsonl."""

    iteration: Count
    train_loss: float
    valid_loss: float | None = None
    valid_error: float | None = None


@dataclass(frozen=True)
class Result:
    """What a finished run brought."""

    job: Job
    summary: Mapping[str, Any]
    metrics: Sequence[Record]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    results: Sequence[Result]
    metric: str
    paper: tuple[float, float | None] | None
    failures: Mapping[int, MinisigError]  # by seed

    @property
    def values(self) -> list[float]:
        return [float(result.summary[self.metric]) for result in self.results]

    @property
    def mean(self) -> float | None:
        return mean(self.values) if self.values else None

    @property
    def std(self) -> float:
        return stdev(self.values) if len(self.values) > 1 else 0.0

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper[0]


@dataclass(frozen=True)
class Comparison:
    config: Config  # of its first run
    metric: str
    seeds: int
    rows: Sequence[Row]

    @property
    def baselines(self) -> Mapping[str, float]:
        return next((dict(row.results[0].summary["baselines"]) for row in self.rows if row.results), {})

    @property
    def failures(self) -> list[MinisigError]:
        return [error for row in self.rows for error in row.failures.values()]


def plan(experiment: str, rows: Sequence[str], seeds: int, settings: Mapping[str, Any]) -> list[Job]:
    """The runs of a comparison. A row is an initialization, or one of the experiment's own such as lstm."""
    require_known("experiment", experiment, EXPERIMENTS)
    known = EXPERIMENTS[experiment]
    jobs = []
    for row in dict.fromkeys(rows):
        require_known("init", row, [*INITIALIZERS, *known.rows])
        own = known.rows.get(row, {"network.init": row})
        if clash := [name for name in (*own, "seed") if name in settings]:
            raise UsageError(f"{clash[0]} is what the rows of a comparison differ in; leave it out")
        model = own.get("network.model")
        foreign = [f"network.{name}" for name, owner in OF_ONE_MODEL.items() if model not in (None, owner)]
        taken = {name: value for name, value in settings.items() if name not in foreign}
        jobs += [Job(row, configure(experiment, {**taken, **own, "seed": seed})) for seed in range(seeds)]
    return jobs


def _content(path: str | None) -> str:
    """A hash of the user's own data; none of what cannot be read here, but perhaps by a cluster's workers."""
    if path is None:
        return ""
    own, known_by = Path(path), sha256()
    files = [own] if own.is_file() else sorted(own.glob("*-ubyte*")) + sorted(own.glob("*.txt*"))
    try:
        for file in filter(Path.is_file, files):  # a pipe or a device may never end
            with file.open("rb") as content:
                known_by.update(file_digest(content, "sha256").digest())
    except OSError:
        return ""
    return known_by.hexdigest() if files else ""


def every_row(experiment: str, model: str | None) -> list[str]:
    """What `--init all` means: the paper's initializations that the model can have, and the experiment's own rows."""
    require_known("experiment", experiment, EXPERIMENTS)
    rows = EXPERIMENTS[experiment].rows
    if model is not None:
        rows = {name: own for name, own in rows.items() if "network.model" not in own}
    return inits_of(model or EXPERIMENTS[experiment].config.network.model) + list(rows)


def train(config: bytes, watch: Watch | None = None) -> tuple[dict[str, Any], list[Record]]:
    """One run: its summary and its metrics, plain data that can travel."""
    wanted = decode_config(config)
    # For good: on a worker with several runs at once, the first to end must not undo what the others count on.
    blas_threads(wanted.threads)
    metrics: list[Record] = []

    def keep(record: Record) -> None:
        metrics.append(jsonable(record))
        if watch:
            watch(record)

    return jsonable(run(wanted, watch=keep, stop=given_up())), metrics


def compare(
    jobs: Sequence[Job],
    folder: Path,
    place: Place,
    *,
    watch: Watch | None = None,
    finished: Callable[[Job, Result | MinisigError], None] = lambda job, outcome: None,
) -> Comparison:
    """Make the runs that are not in `folder` yet, and put all of them into one table.

    A run that fails is part of the outcome; the others are made all the same. `watch` sees the records of runs that are
    made in this process, `finished` every run.
    """
    content = cache(_content)
    jobs = [replace(job, data=content(job.config.data.path)) for job in jobs]
    outcomes: dict[Job, Result | MinisigError] = {}
    for job in jobs:
        if (folder / job.folder).is_dir():
            outcomes[job] = _load(job, folder)
            finished(job, outcomes[job])
    missing = [job for job in jobs if job not in outcomes]
    watching = (watch,) if watch else ()
    made: list[Path] = []

    @contextmanager
    def ready() -> Iterator[Executor]:
        """The place, and a folder to write to, before anything is trained."""
        with place() as executor:
            made.extend(path for path in (folder, *folder.parents) if not path.exists())
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
            yield executor

    runs = completed(ready, train, missing, lambda job: (msgspec.json.encode(job.config), *watching))
    with closing(runs):  # or whoever keeps an exception's traceback keeps the workers too
        for job, future in runs:
            outcomes[job] = outcome = _outcome(job, future)
            if isinstance(outcome, Result):
                _save(outcome, folder)
            finished(job, outcome)
    if not any(isinstance(outcome, Result) for outcome in outcomes.values()):  # nothing to keep
        for path in made:
            with suppress(OSError):  # somebody else has put something there
                path.rmdir()
    return _table(jobs, outcomes)


def _outcome(job: Job, future: Future[Any]) -> Result | MinisigError:
    error = future.exception()
    if error is None:
        result = Result(job, *future.result())
        metric = EXPERIMENTS[job.config.experiment].metric
        if metric in result.summary:
            return result
        return UsageError(f"{job.config.experiment} compares {metric}, which {job.config.data.source} does not give")
    if isinstance(error, MemoryError):
        return OutOfMemory()
    if isinstance(error, Exception):
        return error if isinstance(error, MinisigError) else MinisigError(f"{type(error).__name__}: {error}")
    raise error


def _table(jobs: Sequence[Job], outcomes: Mapping[Job, Result | MinisigError]) -> Comparison:
    known = EXPERIMENTS[jobs[0].config.experiment]
    rows = []
    for name in dict.fromkeys(job.row for job in jobs):
        found = [(job, outcomes[job]) for job in jobs if job.row == name]
        rows.append(
            Row(
                name,
                [outcome for _, outcome in found if isinstance(outcome, Result)],
                known.metric,
                paper_figure(name, found[0][0].config),
                {job.config.seed: outcome for job, outcome in found if isinstance(outcome, MinisigError)},
            )
        )
    return Comparison(jobs[0].config, known.metric, len({job.config.seed for job in jobs}), rows)


def _save(result: Result, folder: Path) -> None:
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


def _load(job: Job, folder: Path) -> Result:
    """A run that was finished before; its files are checked, for they may be anybody's."""
    path = folder / job.folder
    try:
        if read_config(path) != job.config:
            raise DataError(f"{path}: its config.json is not that of the run it is named after")
        summary, lines = RunFolder(path).summary(), read_file(path / "metrics.jsonl")
        if summary is None or EXPERIMENTS[job.config.experiment].metric not in summary:
            raise DataError(f"{path}: there is no summary.json with the result")
        metrics = [msgspec.json.decode(line, type=dict[str, Any]) for line in lines.splitlines()]
        msgspec.convert(metrics, list[Logged])
    except DataError as error:
        raise DataError(f"{error}; remove the folder") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not a finished run ({error}); remove the folder") from None
    return Result(job, summary, metrics)


def curves(results: Iterable[Result], name: str) -> dict[int, list[float]]:
    """Of every iteration at which all runs logged it, the values of one metric."""
    found: dict[int, list[float]] = {}
    results = list(results)
    for result in results:
        for record in result.metrics:
            value = record.get(name)
            if isinstance(value, int | float):
                found.setdefault(int(record["iteration"]), []).append(float(value))
    return {iteration: values for iteration, values in sorted(found.items()) if len(values) == len(results)}
