"""What a report says of the runs of one experiment: sentences, tables and charts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from minisig.experiments import EXPERIMENTS, base, compared, configure, known, paper_figure, settings
from minisig.experiments.compare import Row
from minisig.experiments.results import Job, Result
from minisig.report.charts import (
    MAX_LAYERS,
    MAX_POINTS,
    Curve,
    Styles,
    View,
    by_depth,
    curve,
    curves_chart,
    results_chart,
    start_chart,
    start_norms,
    styles,
)
from minisig.report.comparison import cells
from minisig.report.labels import PARTS, in_percent, label, split, unit
from minisig.report.layers import capacity, heat_chart, profile, profile_tables
from minisig.report.quality import QualityPart, quality_part
from minisig.report.runs import FailedRun, Run, kinds, once
from minisig.report.summary import BASELINES, last_iteration
from minisig.report.tables import Table, cropped, network, number, setting, subject
from minisig.report.thinning import spread
from minisig.report.verdicts import comparison_verdict, run_verdict
from minisig.training.records import metrics

MAX_LINES = 20  # of a table behind a chart
MAX_SAMPLES = 10  # of what a model of texts wrote
LONGEST = 300  # characters of a setting


@dataclass(frozen=True)
class Section:
    heading: str
    what: str
    verdict: Sequence[str]
    results: Table
    styles: Styles
    views: Sequence[View]
    profiles: Sequence[Mapping[str, Any]]  # one for each run, of which the page shows one at a time
    tables: Mapping[str, Table]  # behind the charts of the first profile; the page rewrites them for the others
    configuration: Table
    commands: Sequence[str]
    notes: Sequence[str]
    runs: Table | None = None
    failures: Sequence[str] = ()
    quality: QualityPart | None = None
    samples: Table | None = None


def section(
    runs: Sequence[Run], failures: Sequence[FailedRun], repeat: Callable[[Sequence[Run]], Sequence[str]]
) -> Section:
    """Of runs of the same task; `repeat` gives the commands that would make them again."""
    every, runs = runs, once(runs)
    found = kinds(runs)
    one = runs[0]
    task = cropped(_task(one), LONGEST)
    looks = styles(PARTS.values() if len(runs) == 1 else found)
    columns, frames = capacity(runs)
    profiles = [
        {"name": f"{name}, seed {run.config.seed}", "heat_chart": heat_chart(run.metrics, columns)}
        | profile(run.metrics, frames)
        for name, members in found.items()
        for run in members
    ]
    common: dict[str, Any] = {
        "styles": looks,
        "profiles": profiles,
        "tables": profile_tables(profiles[0]),
        "configuration": _configuration(runs),
        "commands": repeat(runs),
        "notes": _notes(runs, columns, frames) + _repeated(every, runs),
        "failures": [f"{failure.row}, seed {failure.seed}: {failure.message}" for failure in failures],
    }
    if len(runs) == 1:
        views = _losses(one, looks)
        shown = [style for style in looks if any(style in _drawn(view) for view in views)]
        common["styles"] = {name: looks[name] for name in shown}
        heading = f"{task}, {cropped(one.row, LONGEST)}, seed {one.config.seed}"
        return Section(
            heading,
            cropped(network(one.config), LONGEST),
            run_verdict(one),
            _facts(one),
            views=views,
            quality=quality_part(one.summary or {}),
            samples=_samples(one),
            **common,
        )
    metric = _metric(runs)
    rows = [_row(name, members, metric) for name, members in found.items()]
    networks = {network(run.config, init=False) for run in runs}
    inits = all(name == members[0].config.network.init for name, members in found.items())
    kind = f"{len(found)} {'initializations' if inits else 'kinds of network'}" if len(found) > 1 else one.row
    return Section(
        f"{task}: {kind}, {len(runs)} runs",
        cropped(networks.pop() if len(networks) == 1 else task, LONGEST),
        comparison_verdict(rows, found, len(failures)),
        _comparison(rows, metric),
        views=[*_results(rows, looks, metric), *_learning(found, looks), _start(found, looks)],
        runs=_runs(found, metric),
        **common,
    )


def _task(run: Run) -> str:
    """The experiment, and in what its data are not those it has by itself."""
    experiment = base(run.config)
    usual = settings(configure(experiment)) if experiment in EXPERIMENTS else {}
    subjects = ("path", "source") if run.config.data.path else ("path",)  # which are told before
    changed = {f"data.{name}": value for name, value in run.data.items() if name not in subjects}
    told = [f"{name} {value}" for name, value in changed.items() if value != str(usual.get(name, value) or "")]
    return ", ".join([subject(run.config), *told])


def _metric(runs: Sequence[Run]) -> str:
    experiment = known(runs[0].config)
    if experiment:
        return next((name for run in runs if (name := compared(run.config, run.summary or {}))), experiment.metric)
    found = (name for run in runs for name in metrics(run.summary or {}, "test") if name != "test_loss")
    return next(found, "test_loss")


def _row(name: str, runs: Sequence[Run], metric: str) -> Row:
    results = [
        Result(Job(run.row, run.config), run.summary, ()) for run in runs if run.summary and metric in run.summary
    ]
    return Row(name, results, metric, paper_figure(runs[0].row, runs[0].config), {})


def _comparison(rows: Sequence[Row], metric: str) -> Table:
    """The table of `minisig compare`; without the paper's columns where the paper has nothing."""
    width = 4 if any(row.paper for row in rows) else 2
    head = ["network", f"{label(metric)}, mean ± standard deviation", "paper", "difference"]
    return Table(head[:width], [row[:width] for row in cells(rows)])


def _losses(run: Run, looks: Styles) -> list[View]:
    """The losses of one run in one chart, every other metric in one of its own."""
    views = []
    for kind in dict.fromkeys(split(metric)[1] for metric in run.metrics.scalars):
        curves = [curve(PARTS[part], [run], f"{part}_{kind}") for part in PARTS]
        present = [one for one in curves if one]
        if present:
            views.append(_over_iterations(kind, unit(kind), present, looks))
    return views


def _learning(found: Mapping[str, Sequence[Run]], looks: Styles) -> list[View]:
    views = []
    for scalar in dict.fromkeys(name for runs in found.values() for run in runs for name in run.metrics.scalars):
        curves = [curve(name, runs, scalar) for name, runs in found.items()]
        present = [one for one in curves if one]
        if present:
            views.append(_over_iterations(scalar, label(scalar), present, looks))
    return views


def _over_iterations(name: str, what: str, curves: Sequence[Curve], looks: Styles) -> View:
    iterations = reduce(np.intersect1d, [one.iterations for one in curves])
    if not iterations.size:
        iterations = curves[0].iterations
    lines = []
    for iteration in iterations[spread(len(iterations), MAX_LINES)].tolist():
        places = [np.searchsorted(one.iterations, iteration) for one in curves]
        values = [
            one.mean[i] if i < len(one.mean) and one.iterations[i] == iteration else None
            for one, i in zip(curves, places, strict=True)
        ]
        lines.append([f"{iteration:,}", *map(number, values)])
    table = Table(["iteration", *(one.name for one in curves)], lines)
    return View(name, what.capitalize(), curves_chart(curves, looks, what), table, ("x", "y"))


def _results(rows: Sequence[Row], looks: Styles, metric: str) -> list[View]:
    values = {row.name: row.values for row in rows if row.values}
    if not values:
        return []
    paper = {row.name: row.paper[0] for row in rows if row.paper and row.values}
    table = Table(["network", "each run"], [[name, ", ".join(map(number, each))] for name, each in values.items()])
    title = f"{label(metric).capitalize()} of every run{' (◇ the mean in the paper)' if paper else ''}"
    return [View("results", title, results_chart(values, looks, paper, label(metric)), table, "x")]


def _start(found: Mapping[str, Sequence[Run]], looks: Styles) -> View:
    norms = {name: start_norms(runs) for name, runs in found.items()}
    rows = [
        [layer, *(number(of_layers.get(layer)) for of_layers in norms.values())] for layer in by_depth(norms.values())
    ]
    title = "Gradient norm of every layer before training"
    return View("start", title, start_chart(norms, looks), Table(["layer", *norms], rows), ("y",))


def _samples(run: Run) -> Table | None:
    """What a model of texts wrote while it learned."""
    found = run.metrics.samples
    if not found:
        return None
    kept = [found[i] for i in spread(len(found), MAX_SAMPLES)]
    return Table(
        ["iteration", "what it wrote"], [[f"{iteration:,}", cropped(text, LONGEST)] for iteration, text in kept]
    )


def _facts(run: Run) -> Table:
    summary = run.summary or {}
    losses = ("test_loss", "valid_loss", "train_loss")
    names = [*(name for name in metrics(summary, "test") if name not in losses), *(losses if summary else ())]
    rows = [[label(name), f"{summary[name]:.4g}"] for name in names]
    rows += [
        [f"baseline: {BASELINES.get(name, name)}", f"{value:.4g}"]
        for name, value in summary.get("baselines", {}).items()
    ]
    if summary:
        rows += [
            ["iterations", f"{last_iteration(summary):,}"],
            ["selected at iteration", f"{summary['best_iteration']:,}"],
            ["parameters", f"{summary['parameters']:,}"],
            ["seconds", f"{summary['seconds']:.1f}"],
        ]
    else:
        rows.append(["iterations so far", f"{run.metrics.iterations[-1]:,} of {run.config.iterations:,}"])
    return Table(["quantity", "value"], rows)


def _runs(found: Mapping[str, Sequence[Run]], metric: str) -> Table:
    rows = []
    for name, members in found.items():
        for run in members:
            done = run.summary or {}
            figures = [number(done.get(key)) for key in ("test_loss", "valid_loss", "train_loss")]
            best = f"{done['best_iteration']:,}" if done else "not finished"
            what = f"{done[metric]:.2f}" if in_percent(metric) and metric in done else number(done.get(metric))
            seconds = f"{done['seconds']:.1f}" if done else "–"
            rows.append([f"{name}, seed {run.config.seed}", what, *figures, best, seconds, run.path.name])
    head = ["run", label(metric), "test loss", "validation loss", "training loss", "selected at", "seconds", "folder"]
    return Table(head, rows)


def _configuration(runs: Sequence[Run]) -> Table:
    """Every setting; where the runs differ, all the values it has."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in settings(run.config).items():
            values.setdefault(name, {})[setting(value, LONGEST)] = None
    return Table(["setting", "value"], [[name, " | ".join(found)] for name, found in values.items()])


def _notes(runs: Sequence[Run], columns: int, frames: int) -> list[str]:
    longest = max(len(run.metrics.iterations) for run in runs)
    deepest = max(len(run.metrics.layers) for run in runs)
    notes = []
    if not all(run.config.data.hold_out for run in runs):
        notes.append(
            "With data.hold_out=false the validation part was trained on too: what is said of it is said of data the "
            "network has learned from, and the last parameters are the result."
        )
    if longest > MAX_POINTS:
        notes.append(
            f"Of {longest:,} logged iterations a curve is drawn through at most {MAX_POINTS:,}: the lowest and the "
            f"highest of every stretch, so that no peak is lost."
        )
    for what, most in {"The heat map": columns, "The slider": frames}.items():
        if longest > most:
            notes.append(f"{what} shows {most:,} of the {longest:,} logged iterations, evenly spread.")
    if deepest > MAX_LAYERS:
        notes.append(f"{MAX_LAYERS} of {deepest:,} layers are shown, evenly spread, the first and the last included.")
    return notes


def _repeated(every: Sequence[Run], counted: Sequence[Run]) -> list[str]:
    paths = {run.path for run in counted}
    left_out = [run.path.name for run in every if run.path not in paths]
    if not left_out:
        return []
    names = cropped(", ".join(left_out), LONGEST)
    return [f"Of runs with the same settings and the same seed the last to finish counts. Left out: {names}."]


def _drawn(view: View) -> set[str]:
    return {trace["legendgroup"] for trace in view.chart["data"]}
