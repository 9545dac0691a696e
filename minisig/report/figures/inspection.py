"""What `minisig inspect` found, layer by layer; of a finished run also its course."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minisig.diagnostics.inspection import Inspection
from minisig.report.figures.activations import draw_activations
from minisig.report.figures.bounds import draw_bounds, name_places
from minisig.report.figures.canvas import line_styles, name_layers, new_figure, numbers, over_losses, widen
from minisig.report.figures.gradients import draw_gradients
from minisig.report.metrics import Metrics
from minisig.report.palette import PALETTE, colours
from minisig.report.tables import network
from minisig.training.config import Config

# Field of a layer's row: title, label of the axis, its scale.
LAYER = {
    "neuron_std": ("standard deviation of a logit over the inputs", "σ", "log"),
    "entropy": ("entropy of the activations", "H(y), nats", "linear"),
    "gradient_norm": ("gradient with respect to weights and biases", r"$\|\partial L/\partial (W, b)\|$", "log"),
}


def inspection_figure(config: Config, found: Mapping[str, Inspection], metrics: Metrics | None = None) -> Any:
    """Logits, entropy and gradients of every initialization, and how far the gradient reaches back.

    Of a single one this stands against its bounds, and the metrics of its run, if any, are shown below.
    """
    layers = next(iter(found.values())).layers
    shown = [f for f in LAYER if f == "gradient_norm" or sum(row[f] is not None for row in layers) > 1]
    reach = all(inspection.bounds and len(inspection.bounds.rows) > 1 for inspection in found.values())
    count = len(shown) + reach
    legend = 0.7 if reach and len(found) == 1 else 0  # of the bounds, below their panel
    heights = [
        3.5 * -(-count // 2) + legend,
        *([3.5] if metrics else []),
        *([4.5] if metrics and metrics.activations else []),
    ]
    figure = new_figure(11 if count > 1 or metrics else 6, sum(heights))
    parts = np.atleast_1d(figure.subfigures(len(heights), 1, height_ratios=heights))
    panels = list(parts[0].subplots(-(-count // 2), min(2, count), squeeze=False).flat)
    for axes, field in zip(panels, shown, strict=False):
        _draw_layers(axes, found, field)
    if reach:
        _draw_reach(panels[count - 1], found)
    for axes in panels[count:]:
        axes.remove()
    if len(found) > 1:
        panels[0].legend(frameon=False, fontsize="small", ncols=2)
    parts[0].suptitle(network(config, init=len(found) == 1), parse_math=False)
    if metrics:
        losses, gradients = parts[1].subplots(1, 2)
        _draw_losses(losses, metrics)
        draw_gradients([gradients], [metrics])
        if metrics.activations:
            draw_activations(parts[2], metrics, colours(found)[next(iter(found))])
    return figure


def _draw_layers(axes: Any, found: Mapping[str, Inspection], field: str) -> None:
    """One quantity of every layer that has it, input first."""
    title, label, scale = LAYER[field]
    styles = line_styles(found)
    for init, inspection in found.items():
        rows = [row for row in inspection.layers if row[field] is not None]
        axes.plot(range(len(rows)), numbers(row[field] for row in rows), marker=".", label=init, **styles[init])
    name_layers(axes.xaxis, [row["name"] for row in rows])
    axes.set(title=title, ylabel=label, yscale=scale)
    if scale == "log":
        widen(axes, 2)
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, -0.5), max(high, 0.05))  # 0 is a sigmoid's most
    axes.grid(alpha=0.3)


def _draw_reach(axes: Any, found: Mapping[str, Inspection]) -> None:
    """The gradient on its way back: of one network against its bounds, of several only what is measured."""
    bounds = {init: inspection.bounds for init, inspection in found.items() if inspection.bounds}
    if len(bounds) == 1:
        draw_bounds(axes, next(iter(bounds.values())))
        return
    styles = line_styles(found)
    for init, bound in bounds.items():
        rows = bound.rows[::-1]
        axes.plot(range(len(rows)), numbers(row.measured for row in rows), label=init, **styles[init])
    name_places(axes, next(iter(bounds.values())))
    axes.set(title="gradient with respect to the activations", ylabel=r"$\|\partial L/\partial y\|$", yscale="log")
    axes.grid(alpha=0.3)


def _draw_losses(axes: Any, metrics: Metrics) -> None:
    axes.plot(*metrics.logged("train_loss"), color=PALETTE[7], label="of the batch")
    axes.plot(*metrics.logged("valid_loss"), ".-", color=PALETTE[6], label="on the validation part")
    axes.set(title="loss", ylabel="mean cross-entropy, nats")
    over_losses(axes)
    axes.legend(frameon=False)
