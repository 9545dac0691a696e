"""Gradient norm of every layer over the iterations, as a map."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minisig.report.figures.canvas import at_least, name_layers, new_figure, over_iterations
from minisig.report.metrics import Metrics

MAX_COLUMNS = 1000  # of a map; more could not be seen


def gradient_maps(runs: Mapping[str, Metrics]) -> Any:
    """Several runs side by side, under their names, in one scale of colours."""
    figure = new_figure(1.5 + 4.5 * len(runs), 4)
    panels = figure.subplots(1, len(runs), squeeze=False)[0]
    draw_gradients(panels, list(runs.values()))
    for axes, name in zip(panels, runs, strict=True):
        axes.set_title(name, parse_math=False)
    return figure


def draw_gradients(panels: Sequence[Any], runs: Sequence[Metrics]) -> None:
    """A map of each run on its axes, input layer at the top; a norm of 0 is left grey."""
    from matplotlib.colors import LogNorm

    seen = np.concatenate([metrics.norms[metrics.norms > 0] for metrics in runs])
    scale = LogNorm(*at_least(seen.min(), seen.max(), 2)) if len(seen) else LogNorm(1, 100)
    for axes, metrics in zip(panels, runs, strict=True):
        some = slice(None, None, -(-len(metrics.iterations) // MAX_COLUMNS))
        norms = np.where(metrics.norms > 0, metrics.norms, np.nan)[some].T
        edges = np.arange(len(metrics.layers) + 1) - 0.5
        # A picture within the picture: as paths, a long run would make a file of many megabytes.
        mesh = axes.pcolormesh(
            _edges(metrics.iterations[some]), edges, norms, norm=scale, cmap="cividis", rasterized=True
        )
        axes.set(title="gradient norm of every layer", facecolor="0.6")
        over_iterations(axes)
        axes.invert_yaxis()
        name_layers(axes.yaxis, metrics.layers)
    panels[0].figure.colorbar(mesh, ax=list(panels), label="gradient norm")


def _edges(centres: Any) -> Any:
    """Between neighbours, and as far beyond the ends."""
    if len(centres) == 1:
        return centres[0] + np.array([-0.5, 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[max(0.0, 2 * centres[0] - middle[0])], middle, [2 * centres[-1] - middle[-1]]])
