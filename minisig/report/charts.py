"""Charts as plain data, {"data": traces, "layout": …} as plotly.js reads them.

A trace's legendgroup is what the page's switches turn on and off. Colours are those of the figures; the page fits them
to a light or a dark background.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import isfinite
from textwrap import wrap
from typing import Any

import numpy as np

from minisig.report.palette import PALETTE, colours
from minisig.report.runs import Run
from minisig.report.tables import Table, cropped
from minisig.report.thinning import spread, thin

Chart = dict[str, Any]
Styles = Mapping[str, tuple[str, str]]  # colour and dash of what a name stands for

MAX_POINTS = 1000  # of a curve …
ALL_POINTS = 60_000  # … and of all curves of a chart
MAX_LAYERS = 300
LETTERS = 30  # of a name beside an axis, where a longer one goes on in the next line
DASHES = ("solid", "dash", "dot")  # one after the other when all colours are in use
NUMBERS = {"tickformat": "~g", "automargin": True}  # axes of them, logarithmic or not
ITERATIONS = {"title": {"text": "iteration"}, "type": "linear", "tickformat": ","}
LAYERS: dict[str, Any] = {"type": "category", "automargin": True}


@dataclass(frozen=True)
class Curve:
    """Means over the seeds, and a band from the least to the greatest."""

    name: str
    iterations: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class View:
    """A chart with its numbers."""

    name: str  # within the section
    title: str
    chart: Chart
    table: Table
    log: Sequence[str] = ()  # axes that can be switched to a logarithmic scale


def curve(name: str, runs: Sequence[Run], scalar: str) -> Curve | None:
    """One scalar of the same network with several seeds, at the iterations at which all of them logged it."""
    logged = [run.metrics.logged(scalar) for run in runs]
    common = reduce(np.intersect1d, [iterations for iterations, _ in logged])
    if not common.size:
        return None
    values = np.array([found[np.isin(iterations, common)] for iterations, found in logged])
    with np.errstate(over="ignore"):
        return Curve(name, common, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def styles(names: Iterable[str]) -> Styles:
    """A colour and a dash for each name, the same in every chart; a colour that comes again has another dash."""
    used: Counter[str] = Counter()
    looks = {}
    for name, colour in colours(names).items():
        looks[name] = colour, DASHES[used[colour] % len(DASHES)]
        used[colour] += 1
    return looks


def curves_chart(curves: Sequence[Curve], styles: Styles, unit: str) -> Chart:
    """Curves over the iterations; where seeds differ, bands behind them."""
    points = max(min(MAX_POINTS, ALL_POINTS // max(len(curves), 1)), 20)
    bands, lines = [], []
    for one in curves:
        colour, dash = styles[one.name]
        kept = thin(one.low, one.high, points)
        x, mean, low, high = (values[kept].tolist() for values in (one.iterations, one.mean, one.low, one.high))
        lines.append(
            {
                "type": "scatter",
                "mode": "lines" if len(x) > 1 else "markers",
                "name": plain(one.name),
                "legendgroup": one.name,
                "x": x,
                "y": short(mean),
                "line": {"color": colour, "dash": dash, "width": 2},
                "marker": {"color": colour},
                "hovertemplate": "%{fullData.name}<br>iteration %{x:,}<br>%{y:.4g}<extra></extra>",
            }
        )
        if (one.low < one.high).any():
            bands.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": plain(one.name),
                    "legendgroup": one.name,
                    "x": x + x[::-1],
                    "y": short(high) + short(low)[::-1],
                    "fill": "toself",
                    "fillcolor": colour,
                    "line": {"color": colour, "width": 0},
                    "opacity": 0.18,
                    "hoverinfo": "skip",
                }
            )
    positive = all((one.low > 0).all() for one in curves)
    return {
        "data": bands + lines,
        "layout": {
            "xaxis": ITERATIONS,
            "yaxis": {
                "title": {"text": unit},
                "type": "log" if positive and "loss" in unit else "linear",
                "rangemode": "tozero",
            }
            | NUMBERS,
        },
    }


def results_chart(
    values: Mapping[str, Sequence[float]], styles: Styles, paper: Mapping[str, float], unit: str
) -> Chart:
    """Every run's result, a line for each kind, and the paper's mean."""
    places = {name: place for place, name in enumerate(values)}
    names = [wrap(name, LETTERS) for name in places]
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": plain(name),
            "legendgroup": name,
            "x": short(found),
            "y": [places[name]] * len(found),
            "marker": {"color": styles[name][0], "size": 10, "opacity": 0.75},
            "hovertemplate": "%{fullData.name}<br>%{x:.4g}<extra></extra>",
        }
        for name, found in values.items()
    ]
    if paper:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "the paper's mean",
                "x": list(paper.values()),
                "y": [places[name] for name in paper],
                "marker": {"color": PALETTE[6], "size": 12, "symbol": "diamond-open", "line": {"width": 2}},
                "hovertemplate": "%{fullData.name}<br>%{x:.4g}<extra></extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": unit}, "type": "linear"} | NUMBERS,
            "yaxis": {
                "tickvals": list(places.values()),
                "ticktext": ["<br>".join(map(plain, lines)) for lines in names],
                "range": [len(values) - 0.5, -0.5],
                "automargin": True,
            },
            "height": 120 + max(34, 17 * max(map(len, names))) * len(values),
        },
    }


def start_chart(norms: Mapping[str, Mapping[str, float]], styles: Styles) -> Chart:
    """Gradient norm of every layer before training."""
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": plain(name),
                "legendgroup": name,
                "x": [plain(layer) for layer in of_layers],
                "y": short(of_layers.values()),
                "line": {"color": styles[name][0], "dash": styles[name][1], "width": 2},
                "marker": {"color": styles[name][0], "size": 6},
                "hovertemplate": "%{fullData.name}<br>%{x}<br>%{y:.3e}<extra></extra>",
            }
            for name, of_layers in norms.items()
        ],
        "layout": {
            "xaxis": LAYERS | {"categoryarray": [plain(layer) for layer in by_depth(norms.values())]},
            "yaxis": {"title": {"text": "gradient norm"}, "type": "log"} | NUMBERS,
        },
    }


def residuals_chart(target: Sequence[float], prediction: Sequence[float]) -> Chart:
    """What was predicted against what was true; on the line the two are the same."""
    ends = [min(*target, *prediction), max(*target, *prediction)]
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": short(target),
        "y": short(prediction),
        "marker": {"color": PALETTE[5], "size": 7, "opacity": 0.6},
        "hovertemplate": "target %{x:.5g}<br>prediction %{y:.5g}<extra></extra>",
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": short(ends),
        "y": short(ends),
        "line": {"color": PALETTE[7], "dash": "dash", "width": 1},
        "hoverinfo": "skip",
    }
    axes: dict[str, Any] = {"type": "linear"} | NUMBERS
    return {
        "data": [line, points],
        "layout": {
            "xaxis": axes | {"title": {"text": "target"}},
            "yaxis": axes | {"title": {"text": "prediction"}},
        },
    }


def looked_chart(tokens: Sequence[str], gradient: Sequence[float]) -> Chart:
    """A bar for every token, from the first to the one before the guess."""
    return {
        "data": [
            {
                "type": "bar",
                "x": [*range(len(tokens))],
                "y": short(gradient),
                "customdata": [plain(token, LETTERS) for token in tokens],
                "marker": {"color": PALETTE[5]},
                "hovertemplate": "%{customdata}<br>%{y:.3e}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {
                "tickvals": [*range(len(tokens))],
                "ticktext": [plain(token.replace("\n", "⏎").replace(" ", "␣"), LETTERS) for token in tokens],
                "automargin": True,
                "type": "linear",
            },
            "yaxis": {"title": {"text": "gradient norm"}, "type": "log"} | NUMBERS,
        },
    }


def importance_chart(rises: Mapping[str, float]) -> Chart:
    """How much worse the loss becomes without each column, the most important on top."""
    names = [plain(name, LETTERS) for name in rises]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": short(rises.values()),
                "y": [*range(len(names))],
                "customdata": names,
                "marker": {"color": PALETTE[5]},
                "hovertemplate": "%{customdata}<br>%{x:.4g}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "rise of the validation loss"}, "type": "linear"} | NUMBERS,
            "yaxis": {
                "tickvals": [*range(len(names))],
                "ticktext": names,
                "range": [len(names) - 0.5, -0.5],
                "automargin": True,
            },
            "height": 90 + 24 * len(names),
        },
    }


def start_norms(runs: Sequence[Run]) -> dict[str, float]:
    """Gradient norms at the first iteration, mean over the seeds, of the layers that a chart has room for."""
    first = runs[0].metrics
    kept = spread(len(first.layers), MAX_LAYERS)
    alike = [run.metrics.norms[0, kept] for run in runs if run.metrics.layers == first.layers]
    with np.errstate(over="ignore"):
        return {first.layers[i]: norm for i, norm in zip(kept, np.mean(alike, axis=0).tolist(), strict=True)}


def by_depth(networks: Iterable[Iterable[str]]) -> list[str]:
    """The layers of several networks, input first.

    >>> by_depth([["embedding", "rnn0", "dense"], ["embedding", "lstm0", "dense"]])
    ['embedding', 'rnn0', 'lstm0', 'dense']
    """
    depths: dict[str, float] = {}
    for layers in map(list, networks):
        for i, layer in enumerate(layers):
            depths.setdefault(layer, i / max(len(layers) - 1, 1))
    return sorted(depths, key=depths.__getitem__)


def plain(text: str, most: int = 90) -> str:
    """Text that plotly shows as it is, what looks like markup included; the start of a long one."""
    return cropped(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(values: Iterable[float | None]) -> list[float | None]:
    """Five digits, which is more than can be seen; None for what is not finite."""
    return [float(f"{value:.5g}") if value is not None and isfinite(value) else None for value in values]
