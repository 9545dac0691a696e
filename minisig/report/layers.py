"""One run layer by layer: its gradients over the iterations, and what a slider over the iterations shows."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np

from minisig.report.charts import ITERATIONS, LAYERS, MAX_LAYERS, NUMBERS, Chart, plain, short
from minisig.report.metrics import Metrics
from minisig.report.palette import PALETTE
from minisig.report.runs import Run
from minisig.report.tables import Table
from minisig.report.thinning import spread

MAX_CELLS = 150_000  # of all heat maps of a section together, and of all sliders
MAX_COLUMNS = 7  # iterations in the table behind a heat map

Grid = Sequence[Sequence[float | None]]  # of iterations by layers


def capacity(runs: Sequence[Run]) -> tuple[int, int]:
    """Iterations that every heat map, and every slider, has room for."""
    layers = sum(min(len(run.metrics.layers), MAX_LAYERS) for run in runs)
    each = MAX_CELLS // max(layers, 1)
    return min(max(each, 2), 400), min(max(each // 3, 2), 100)


def heat_chart(metrics: Metrics, columns: int) -> Chart:
    """log₁₀ of the gradient norm of every layer over the iterations."""
    rows, kept = spread(len(metrics.layers), MAX_LAYERS), spread(len(metrics.iterations), columns)
    norms = metrics.norms[np.ix_(kept, rows)].T
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.log10(norms)
    finite = z[np.isfinite(z)]
    low, high = (floor(finite.min()), ceil(finite.max())) if finite.size else (0, 1)
    ticks = list(range(low, max(high, low + 1) + 1, max(1, ceil((high - low) / 6))))
    return {
        "data": [
            {
                "type": "heatmap",
                "x": metrics.iterations[kept].tolist(),
                "y": [plain(metrics.layers[i]) for i in rows],
                "z": [short(row) for row in z.tolist()],
                "customdata": [short(row) for row in norms.tolist()],
                "colorscale": "Cividis",
                "zmin": low,
                "zmax": max(high, low + 1),
                "colorbar": {"tickvals": ticks, "ticktext": [_power(k) for k in ticks], "thickness": 12},
                "hovertemplate": "%{y}<br>iteration %{x:,}<br>%{customdata:.3e}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": ITERATIONS,
            "yaxis": {"autorange": "reversed", "type": "category", "automargin": True},
        },
    }


def profile(metrics: Metrics, frames: int) -> dict[str, Any]:
    """Gradient norms and activations layer by layer: charts of the first iteration, and the numbers of the others."""
    kept = spread(len(metrics.iterations), frames)
    rows, active = spread(len(metrics.layers), MAX_LAYERS), spread(len(metrics.activations), MAX_LAYERS)
    norms = [short(row) for row in metrics.norms[np.ix_(kept, rows)].tolist()]
    means, stds = (
        [short(row) for row in values[np.ix_(kept, active)].tolist()] for values in (metrics.means, metrics.stds)
    )
    layers, activations = [metrics.layers[i] for i in rows], [metrics.activations[i] for i in active]
    return {
        "iterations": metrics.iterations[kept].tolist(),
        "columns": spread(len(kept), MAX_COLUMNS).tolist(),
        "layers": layers,
        "norms": norms,
        "activations": activations,
        "means": means,
        "stds": stds,
        "norms_chart": _norms_chart(layers, norms),
        "activations_chart": _activations_chart(activations, means, stds) if activations else None,
    }


def _norms_chart(layers: Sequence[str], norms: Grid) -> Chart:
    """The norms at the iteration that the slider shows, and for comparison those at the first."""
    positive = [norm for row in norms for norm in row if norm]
    low, high = (log10(min(positive)), log10(max(positive))) if positive else (-1.0, 0.0)
    x = [plain(layer) for layer in layers]
    line = {"type": "scatter", "mode": "lines+markers", "x": x, "y": norms[0]}
    return {
        "data": [
            line
            | {
                "name": "at the first iteration",
                "line": {"color": PALETTE[4], "dash": "dot", "width": 2},
                "marker": {"color": PALETTE[4], "size": 4},
                "hovertemplate": "%{x}, first iteration<br>%{y:.3e}<extra></extra>",
            },
            line
            | {
                "name": "now",
                "line": {"color": PALETTE[5], "width": 2},
                "marker": {"color": PALETTE[5], "size": 7},
                "hovertemplate": "%{x}<br>%{y:.3e}<extra></extra>",
            },
        ],
        "layout": {
            "xaxis": LAYERS,
            "yaxis": {"title": {"text": "gradient norm"}, "type": "log", "range": [low - 0.2, high + 0.2]} | NUMBERS,
        },
    }


def _activations_chart(activations: Sequence[str], means: Grid, stds: Grid) -> Chart:
    pairs = [pair for row in zip(means, stds, strict=True) for pair in zip(*row, strict=True)]
    ends = [end for mean, std in pairs if mean is not None and std is not None for end in (mean - std, mean + std)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    margin = (high - low) / 20 or 0.1
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": "activations, mean ± standard deviation",
                "x": [plain(name) for name in activations],
                "y": means[0],
                "error_y": {"type": "data", "array": stds[0], "color": PALETTE[0], "thickness": 1.5},
                "line": {"color": PALETTE[0], "width": 2},
                "marker": {"color": PALETTE[0], "size": 7},
                "hovertemplate": "%{x}<br>%{y:.3f} ± %{error_y.array:.3f}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": LAYERS,
            "yaxis": {
                "title": {"text": "activation, mean ± standard deviation"},
                "type": "linear",
                "range": [low - margin, high + margin],
            },
        },
    }


def profile_tables(one: Mapping[str, Any]) -> dict[str, Table]:
    """What page.js writes for another run or iteration, for the first ones."""
    norms, means, stds = one["norms"], one["means"][0], one["stds"][0]
    steps = one["columns"]
    return {
        "norms": Table(
            ["layer", "first iteration", "at the slider"],
            [[layer, _norm(norm), _norm(norm)] for layer, norm in zip(one["layers"], norms[0], strict=True)],
        ),
        "activations": Table(
            ["layer", "mean", "standard deviation"],
            [[name, *map(_fixed, pair)] for name, *pair in zip(one["activations"], means, stds, strict=True)],
        ),
        "heat": Table(
            ["layer", *(f"{one['iterations'][step]:,}" for step in steps)],
            [[layer, *(_norm(norms[step][i]) for step in steps)] for i, layer in enumerate(one["layers"])],
        ),
    }


def _norm(value: float | None) -> str:
    return "–" if value is None else f"{value:.2e}"


def _fixed(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _power(exponent: int) -> str:
    return f"10<sup>{exponent}</sup>".replace("-", "−")
