"""Comparisons: every initialization over several seeds, beside the paper's numbers.

A comparison that was interrupted goes on with the runs that are missing, on this machine from their last checkpoint; no
finished run is ever repeated, see results.py. The configuration of a run fixes the number of BLAS threads too,
on which the last bits of a matrix product depend: on CPUs of one kind the table is the same, number for number,
wherever its runs are made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import msgspec

from minisig.data.hashes import content_hash
from minisig.errors import Diverged, MinisigError, OutOfMemory, UsageError, require_known, writing
from minisig.experiments import EXPERIMENTS, compared, configure, inits_of, known, paper_figure
from minisig.experiments import settings as settings_of
from minisig.experiments.executors import OpenExecutor, completed, given_up
from minisig.experiments.identity import known_by
from minisig.experiments.results import Job, Result, load, make, store, tidy, unfinished
from minisig.initializers import INITIALIZERS
from minisig.jsonable import jsonable
from minisig.settings import dotted
from minisig.training.config import Config, decode_config
from minisig.training.observers import Observers
from minisig.training.records import Record, Summary
from minisig.training.run import blas_threads, run


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
    identity: str = ""  # the hash of what its runs have in common, their data included

    @property
    def baselines(self) -> Mapping[str, float]:
        return next((dict(row.results[0].summary["baselines"]) for row in self.rows if row.results), {})

    @property
    def failures(self) -> list[MinisigError]:
        return [error for row in self.rows for error in row.failures.values()]


def plan(experiment: str, rows: Sequence[str], seeds: int, settings: Mapping[str, Any]) -> list[Job]:
    """The runs of a comparison. A row is an initialization, or one of the experiment's own such as lstm."""
    require_known("experiment", experiment, EXPERIMENTS)
    own = EXPERIMENTS[experiment]
    jobs, shared = [], _shared(experiment, settings)
    own_settings = {}
    for row in dict.fromkeys(rows):
        require_known("init", row, [*INITIALIZERS, *own.rows])
        own_settings[row] = own.rows.get(row, {"network.init": row})
    has = {row: {*settings_of(configure(experiment, differs))} for row, differs in own_settings.items()}
    for row, differs in own_settings.items():
        if clash := [name for name in (*differs, "seed") if name in settings]:
            raise UsageError(f"{clash[0]} is what the rows of a comparison differ in; leave it out")
        foreign = set().union(*has.values()) - has[row]  # what another row has a use for and this one has not
        taken = {name: value for name, value in settings.items() if name not in foreign}
        for seed in range(seeds):
            jobs.append(Job(row, configure(experiment, {**taken, **differs, "seed": seed}), shared=shared))
    return jobs


def _shared(experiment: str, settings: Mapping[str, Any]) -> str:
    """A hash of the settings that are not the experiment's own; data are known by their content, see _table."""
    encode = msgspec.json.encode
    own = {name: encode(value) for name, value in settings_of(configure(experiment)).items()}
    given = {
        name: value
        for name, value in dotted(settings, Config)
        if own.get(name) != encode(value) and name != "data.path"
    }
    return known_by(experiment.encode(), encode(given, order="sorted"))


def every_row(experiment: str, model: str | None) -> list[str]:
    """What `--init all` means: the paper's initializations that the model can have, and the experiment's own rows."""
    require_known("experiment", experiment, EXPERIMENTS)
    rows = EXPERIMENTS[experiment].rows
    if model is not None:
        rows = {name: own for name, own in rows.items() if "network.model" not in own}
    return inits_of(model or EXPERIMENTS[experiment].config.network.model) + list(rows)


def train(config: bytes, path: str, data: str, observers: Observers = ()) -> tuple[Summary, list[Record]] | None:
    """One run, which is at `path` in the end; made by a Dask worker, its summary and its records, which travel."""
    wanted, stop = decode_config(config), given_up()
    if stop is None:
        make(wanted, Path(path), data, observers)
        return None
    blas_threads(wanted.threads)  # for good: the first of a worker's runs to end must not undo what the others count on
    records: list[Record] = []
    summary = run(wanted, observers=[lambda record: records.append(jsonable(record))], stop=stop)
    return jsonable(summary), records


def compare(
    jobs: Sequence[Job],
    folder: Path,
    open_executor: OpenExecutor,
    *,
    observers: Observers = (),
    finished: Callable[[Job, Result | MinisigError], None] = lambda job, outcome: None,
) -> Comparison:
    """Make the runs that are not in `folder` yet, and put all of them into one table.

    A run that fails is part of the outcome; the others are made all the same. `observers` look on at runs that are made
    in this process, `finished` is told of every run.
    """
    content = cache(content_hash)
    jobs = [replace(job, data=content(job.config.data.path)) for job in jobs]
    outcomes: dict[Job, Result | MinisigError] = {}
    for job in jobs:
        if (folder / job.folder).is_dir():
            outcomes[job] = load(job, folder)
            finished(job, outcomes[job])
    missing = [job for job in jobs if job not in outcomes]
    watching = (tuple(observers),) if observers else ()
    created: list[Path] = []

    @contextmanager
    def ready() -> Iterator[Executor]:
        """The executor, and a folder to write to, before anything is trained."""
        with open_executor() as executor:
            created.extend(path for path in (folder, *folder.parents) if not path.exists())
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
            yield executor

    runs = completed(
        ready,
        train,
        missing,
        lambda job: (msgspec.json.encode(job.config), str(folder / job.folder), job.data, *watching),
    )
    try:
        with closing(runs):  # or whoever keeps an exception's traceback keeps the workers too
            for job, future in runs:
                outcomes[job] = outcome = _outcome(job, folder, future)
                tidy(unfinished(folder / job.folder), over=isinstance(outcome, Result | Diverged | UsageError))
                finished(job, outcome)
    finally:
        for job in missing:
            tidy(unfinished(folder / job.folder), over=False)
    if not any(isinstance(outcome, Result) for outcome in outcomes.values()):  # nothing to keep
        for path in created:
            with suppress(OSError):  # somebody else has put something there
                path.rmdir()
    return _table(jobs, outcomes)


def _outcome(job: Job, folder: Path, future: Future[Any]) -> Result | MinisigError:
    try:
        if brought := future.result():
            store(job, folder, *brought)
        return load(job, folder)
    except MinisigError as error:
        return error
    except MemoryError:
        return OutOfMemory()
    except Exception as error:
        return MinisigError(f"{type(error).__name__}: {error}")


def _table(jobs: Sequence[Job], outcomes: Mapping[Job, Result | MinisigError]) -> Comparison:
    summaries = [outcome.summary for outcome in outcomes.values() if isinstance(outcome, Result)]
    row = known(jobs[0].config)
    metric = compared(jobs[0].config, summaries[0]) if summaries else row.metric if row else "test_loss"
    rows = []
    for name in dict.fromkeys(job.row for job in jobs):
        found = [(job, outcomes[job]) for job in jobs if job.row == name]
        rows.append(
            Row(
                name,
                [outcome for _, outcome in found if isinstance(outcome, Result)],
                metric,
                paper_figure(name, found[0][0].config),
                {job.config.seed: outcome for job, outcome in found if isinstance(outcome, MinisigError)},
            )
        )
    first, seeds = jobs[0], len({job.config.seed for job in jobs})
    data = first.data or first.config.data.path or ""
    return Comparison(first.config, metric, seeds, rows, known_by(first.shared.encode(), data.encode()))


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
