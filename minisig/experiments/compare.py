"""Comparisons: every initialization over several seeds, beside the paper's numbers.

A comparison that was interrupted goes on with the runs that are missing (results.py), and with those that were under
way (under_way.py); no finished run is ever repeated. The configuration of a run fixes the number of BLAS threads too,
on which the last bits of a matrix product depend: on CPUs of one kind the table is the same, number for number,
wherever its runs are made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import msgspec

from minisig.errors import Diverged, MinisigError, OutOfMemory, UsageError, require_known, writing
from minisig.experiments import EXPERIMENTS, configure, inits_of, paper_figure
from minisig.experiments import settings as settings_of
from minisig.experiments.executors import Place, completed, given_up
from minisig.experiments.results import Job, Result, load, save
from minisig.experiments.under_way import UnderWay, place_of, tidy
from minisig.initializers import INITIALIZERS
from minisig.jsonable import jsonable
from minisig.training.config import Config, decode_config
from minisig.training.loop import Record
from minisig.training.run import Watch, blas_threads


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
    def std(self) -> float | None:
        return stdev(self.values) if len(self.values) > 1 else None

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
    own_settings = {}
    for row in dict.fromkeys(rows):
        require_known("init", row, [*INITIALIZERS, *known.rows])
        own_settings[row] = known.rows.get(row, {"network.init": row})
    has = {row: {*settings_of(configure(experiment, own))} for row, own in own_settings.items()}
    for row, own in own_settings.items():
        if clash := [name for name in (*own, "seed") if name in settings]:
            raise UsageError(f"{clash[0]} is what the rows of a comparison differ in; leave it out")
        foreign = set().union(*has.values()) - has[row]  # what another row has a use for and this one has not
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


def train(config: bytes, path: str, watch: Watch | None = None) -> tuple[dict[str, Any], list[Record]]:
    """One run, which may be under way at `path`: its summary and its metrics, plain data that can travel."""
    wanted, stop = decode_config(config), given_up()
    if stop:  # a Dask worker may have several runs at once, and the first to end must not undo what the others count on
        blas_threads(wanted.threads)
    under_way = UnderWay(Path(path), kept=stop is None)  # nor is its disk ours
    return jsonable(under_way.make(wanted, watch, stop)), under_way.records


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
            outcomes[job] = load(job, folder)
            finished(job, outcomes[job])
    missing = {job: place_of(folder, job.folder) for job in jobs if job not in outcomes}
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

    runs = completed(
        ready, train, [*missing], lambda job: (msgspec.json.encode(job.config), str(missing[job]), *watching)
    )
    try:
        with closing(runs):  # or whoever keeps an exception's traceback keeps the workers too
            for job, future in runs:
                outcomes[job] = outcome = _outcome(job, future)
                if isinstance(outcome, Result):
                    save(outcome, folder)
                tidy(missing[job], over=isinstance(outcome, Result | Diverged))
                finished(job, outcome)
    finally:
        for path in missing.values():
            tidy(path, over=False)
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
