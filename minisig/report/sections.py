"""What a report says of the runs of one experiment: sentences, tables and charts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from minisig.experiments import EXPERIMENTS, paper_figure, settings
from minisig.experiments.compare import Row
from minisig.experiments.results import Job, Result
from minisig.report.charts import (
    MOST_LAYERS,
    MOST_POINTS,
    NAMES,
    Chart,
    Curve,
    Styles,
    by_depth,
    curve,
    curves_chart,
    results_chart,
    start_chart,
    start_norms,
    styles,
)
from minisig.report.comparison import UNITS, cells
from minisig.report.layers import heat_chart, profile, profile_tables, room
from minisig.report.runs import SAME_DATA, Failure, Run, kinds, once
from minisig.report.summary import BASELINES
from minisig.report.tables import Table, cropped, network, number, setting, subject
from minisig.report.thinning import spread
from minisig.report.verdicts import comparison_verdict, run_verdict

MOST_LINES = 20  # of a table behind a chart
LONGEST = 300  # characters of a setting
PARTS = {"train": "training", "valid": "validation"}  # of the data, that are looked at while training


@dataclass(frozen=True)
class View:
    """A chart with its numbers."""

    name: str  # within the section
    title: str
    chart: Chart
    table: Table
    log: Sequence[str] = ()  # axes that can be switched to a logarithmic scale


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


def section(
    runs: Sequence[Run], failures: Sequence[Failure], repeat: Callable[[Sequence[Run]], Sequence[str]]
) -> Section:
    """Of runs of the same task; `repeat` gives the commands that would make them again."""
    every, runs = runs, once(runs)
    found = kinds(runs)
    one = runs[0]
    task = cropped(_task(one), LONGEST)
    looks = styles(PARTS.values() if len(runs) == 1 else found)
    columns, frames = room(runs)
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
            heading, cropped(network(one.config), LONGEST), run_verdict(one), _facts(one), views=views, **common
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
    data, known = run.config.data, EXPERIMENTS.get(run.config.experiment)
    own = known.config.data if known else data
    changed = [name for name in SAME_DATA if name != "path" and getattr(data, name) != getattr(own, name)]
    return ", ".join([subject(run.config), *(f"data.{name} {getattr(data, name)}" for name in changed)])


def _metric(runs: Sequence[Run]) -> str:
    known = EXPERIMENTS.get(runs[0].config.experiment)
    if known:
        return known.metric
    return next((name for run in runs for name in UNITS if name in (run.summary or {})), "test_error")


def _row(name: str, runs: Sequence[Run], metric: str) -> Row:
    results = [
        Result(Job(run.row, run.config), run.summary, ()) for run in runs if run.summary and metric in run.summary
    ]
    return Row(name, results, metric, paper_figure(runs[0].row, runs[0].config), {})


def _comparison(rows: Sequence[Row], metric: str) -> Table:
    """The table of `minisig compare`; without the paper's columns where the paper has nothing."""
    width = 4 if any(row.paper for row in rows) else 2
    head = ["network", f"{UNITS[metric]}, mean ± deviation", "paper", "difference"]
    return Table(head[:width], [row[:width] for row in cells(rows)])


def _losses(run: Run, looks: Styles) -> list[View]:
    """The losses of one run in one chart, its errors in another, its recall in a third."""
    views = []
    for kind in ("loss", "error", "recall"):
        curves = [curve(PARTS[part], [run], f"{part}_{kind}") for part in PARTS]
        present = [one for one in curves if one]
        if present:
            unit = kind if kind == "loss" else f"{kind} %"
            views.append(_over_iterations(kind, unit.capitalize(), unit, present, looks))
    return views


def _learning(found: Mapping[str, Sequence[Run]], looks: Styles) -> list[View]:
    views = []
    for scalar, unit in NAMES.items():
        curves = [curve(name, runs, scalar) for name, runs in found.items()]
        present = [one for one in curves if one]
        if present:
            views.append(_over_iterations(scalar, unit.capitalize(), unit, present, looks))
    return views


def _over_iterations(name: str, title: str, unit: str, curves: Sequence[Curve], looks: Styles) -> View:
    iterations = reduce(np.intersect1d, [one.iterations for one in curves])
    if not iterations.size:
        iterations = curves[0].iterations
    lines = []
    for iteration in iterations[spread(len(iterations), MOST_LINES)].tolist():
        places = [np.searchsorted(one.iterations, iteration) for one in curves]
        values = [
            one.mean[i] if i < len(one.mean) and one.iterations[i] == iteration else None
            for one, i in zip(curves, places, strict=True)
        ]
        lines.append([f"{iteration:,}", *map(number, values)])
    table = Table(["iteration", *(one.name for one in curves)], lines)
    return View(name, title, curves_chart(curves, looks, unit), table, ("x", "y"))


def _results(rows: Sequence[Row], looks: Styles, metric: str) -> list[View]:
    values = {row.name: row.values for row in rows if row.values}
    if not values:
        return []
    paper = {row.name: row.paper[0] for row in rows if row.paper and row.values}
    table = Table(["network", "each run"], [[name, ", ".join(map(number, each))] for name, each in values.items()])
    unit = UNITS[metric]
    title = f"{unit.capitalize()} of every run{' (◇ the mean in the paper)' if paper else ''}"
    return [View("results", title, results_chart(values, looks, paper, unit), table, "x")]


def _start(found: Mapping[str, Sequence[Run]], looks: Styles) -> View:
    norms = {name: start_norms(runs) for name, runs in found.items()}
    rows = [
        [layer, *(number(of_layers.get(layer)) for of_layers in norms.values())] for layer in by_depth(norms.values())
    ]
    title = "Gradient norm of every layer before training"
    return View("start", title, start_chart(norms, looks), Table(["layer", *norms], rows), ("y",))


def _facts(run: Run) -> Table:
    summary = run.summary or {}
    names = {
        "test_error": "test error %",
        "test_perplexity": "test perplexity",
        "test_recall": "test recall %",
        "test_loss": "test loss",
        "valid_loss": "validation loss",
        "train_loss": "training loss",
    }
    rows = [[name, f"{summary[key]:.4g}"] for key, name in names.items() if key in summary]
    rows += [
        [f"baseline: {BASELINES.get(name, name)}", f"{value:.4g}"]
        for name, value in summary.get("baselines", {}).items()
    ]
    if summary:
        rows += [
            ["iterations", f"{summary['iterations']:,}"],
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
            what = f"{done[metric]:.2f}" if metric == "test_error" and metric in done else number(done.get(metric))
            seconds = f"{done['seconds']:.1f}" if done else "–"
            rows.append([f"{name}, seed {run.config.seed}", what, *figures, best, seconds, run.path.name])
    head = ["run", UNITS[metric], "test loss", "validation loss", "training loss", "selected at", "seconds", "folder"]
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
    if longest > MOST_POINTS:
        notes.append(
            f"Of {longest:,} logged iterations a curve is drawn through at most {MOST_POINTS:,}: the lowest and the "
            f"highest of every stretch, so that no peak is lost."
        )
    for what, most in {"The heat map": columns, "The slider": frames}.items():
        if longest > most:
            notes.append(f"{what} shows {most:,} of the {longest:,} logged iterations, evenly spread.")
    if deepest > MOST_LAYERS:
        notes.append(f"{MOST_LAYERS} of {deepest:,} layers are shown, evenly spread, the first and the last included.")
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
