"""A sheet to draw on, and how it becomes a file."""

from collections.abc import Iterable, Sequence
from io import BytesIO
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from minisig.errors import MinisigError, UsageError, writing
from minisig.report.palette import colours
from minisig.training.files import write_file

FORMATS = (".png", ".svg", ".pdf")
LONGEST = 40  # letters of a layer's name
SMALL_TEXT = {"fontsize": "small", "parse_math": False}  # a name from a file is no formula, whatever it looks like
MAX_LETTERS, MAX_LINES = 56, 16  # of the names of layers along a horizontal and a vertical axis


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    # By itself: pyplot would keep every figure there ever was.
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Write the figure, whole or not at all, in the format that the name ends in."""
    require_drawable(path)
    content = BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    with writing(path):
        write_file(path, content.getvalue())


def require_drawable(path: Path) -> None:
    """Refuse a name of another format, or a machine without matplotlib, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"a figure's name must end in {', '.join(FORMATS)}, got {path}")
    _require_matplotlib()


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MinisigError("figures need matplotlib: pip install 'minisig[viz]'") from None


def line_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Of every name its colour; every second line is thin and drawn over the others, so that it hides none of them."""
    styles = {}
    for i, (name, colour) in enumerate(colours(names).items()):
        styles[name] = {
            "color": colour,
            **({"linewidth": 1.5, "zorder": 3} if i % 2 else {"linewidth": 3, "zorder": 2}),
        }
    return styles


def name_layers(axis: Any, names: Sequence[str]) -> None:
    """Layers 0, 1, 2, … of an axis by their names, or by some of too many."""
    share = sum(map(len, names)) / MAX_LETTERS if axis.axis_name == "x" else len(names) / MAX_LINES
    step = max(1, ceil(share))
    axis.set_ticks(range(0, len(names), step), [name[:LONGEST] for name in names[::step]], **SMALL_TEXT)


def at_least(low: float, high: float, decades: int) -> tuple[float, float]:
    """Limits of a logarithmic scale, at least so many decades apart: what hardly varies is to look like it."""
    if high >= 10**decades * low:
        return low, high
    middle, factor = sqrt(low * high), 10 ** (decades / 2)
    return middle / factor, middle * factor


def widen(axes: Any, decades: int) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(at_least(low, high, decades))


def over_iterations(axes: Any) -> None:
    axes.set_xlabel("iteration")
    axes.xaxis.get_major_locator().set_params(integer=True)


def over_losses(axes: Any) -> None:
    """Losses that are drawn over the iterations: on a logarithmic scale with 0.3, 1, 3, … on it."""
    from matplotlib.ticker import LogLocator

    over_iterations(axes)
    axes.set_yscale("log")
    widen(axes, 1)
    axes.yaxis.set_minor_locator(LogLocator(subs=(3,)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(alpha=0.3, which="both")


def numbers(values: Iterable[Any]) -> Any:
    """As an array, with NaN, which is not drawn, for what is no finite number."""
    array = np.array([np.nan if value is None else value for value in values], dtype=float)
    array[~np.isfinite(array)] = np.nan
    return array
