"""How far the gradient of the loss reaches back, measured, against three bounds."""

from typing import Any

import numpy as np

from minisig.diagnostics.bounds import Bounds
from minisig.report.figures.canvas import name_layers, numbers, widen
from minisig.report.palette import PALETTE

# Name of a bound: label, colour, style.
LINES = {
    "frobenius": (r"$\|W\|_F/4$ a factor (paper, eq. 9)", PALETTE[5], "-"),
    "spectral": (r"$\|W\|_2/4$ a factor", PALETTE[1], "-"),
    "product_with_real_derivatives": ("norms of the real Jacobians", PALETTE[4], "--"),
    "measured": ("measured", "black", "-"),
}
MAX_LOOSE = 1e6  # times the largest of the others; where the Frobenius bound is more it leaves the figure


def draw_bounds(axes: Any, found: Bounds) -> None:
    """Norm of the gradient with respect to the activations, over layers or time steps, and what each bound allows."""
    rows = found.rows[::-1]  # input first
    values = {name: numbers(getattr(row, name) for row in rows) for name in LINES}
    for name, (label, colour, style) in LINES.items():
        if name == "frobenius":
            label = f"{label}, up to {rows[0].frobenius:.0e}"
        thick = 2.5 if name == "measured" else 1.8
        axes.plot(range(len(rows)), values[name], style, color=colour, label=label, linewidth=thick)
    axes.set(title="gradient with respect to the activations", ylabel=r"$\|\partial L/\partial y\|$", yscale="log")
    others = [v for name in LINES if name != "frobenius" for v in values[name] if v > 0]
    if others:
        highest = np.nanmax([*values["frobenius"], max(others)])
        axes.set_ylim(min(others) / 3, 3 * min(highest, MAX_LOOSE * max(others)))
    widen(axes, 2)
    name_places(axes, found)
    axes.grid(alpha=0.3)
    # Below the axes, for no corner of them is free of lines in every network.
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 4 if axes.get_xlabel() else 2.3}
    axes.legend(title=found.verdict, fontsize="small", ncols=2, columnspacing=1, handlelength=1.6, **below)


def name_places(axes: Any, found: Bounds) -> None:
    """Layers by their names, input first, or time steps by their numbers."""
    places = [row.to for row in found.rows[::-1]]
    if places[0].endswith("]"):  # rnn0[104], a state
        axes.set_xlabel("time step")
    else:
        name_layers(axes.xaxis, places)
