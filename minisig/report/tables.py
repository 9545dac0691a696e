"""Tables: as text in columns, numbers, and what to leave out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minisig.experiments import base
from minisig.training.config import Config

MAX_ROWS = 14  # shown; of more the first and the last half of so many


@dataclass(frozen=True)
class Table:
    """Of a page; the first cell of a row names it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Aligned: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for first, *rest in rows:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


def number(value: Any) -> str:
    """Three digits; a dash for what there is not."""
    return "–" if value is None else f"{value:.3g}"


def cropped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def alike(values: Sequence[Any]) -> bool:
    """Whether there are several, and all the same."""
    return len(values) > 1 and len(set(values)) == 1


def setting(value: Any, most: int) -> str:
    """The value of a setting in a few letters.

    >>> setting((100, 100, 100), 30)
    '3 × 100'
    """
    if isinstance(value, list | tuple):
        return f"{len(value)} × {value[0]}" if alike(value) else cropped(", ".join(map(str, value)), most)
    return "–" if value is None else cropped(str(value), most)


def abridged(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """All rows, or the first and last of too many with dots between them."""
    half = MAX_ROWS // 2
    if len(rows) <= MAX_ROWS:
        return list(rows)
    return [*rows[:half], ["…"] + [""] * (len(rows[0]) - 1), *rows[-half:]]


def subject(config: Config) -> str:
    """The experiment, and the user's own data if they are in place of its."""
    if config.data.path and base(config) != config.experiment:  # which is called after them
        return Path(config.data.path).name
    return f"{config.experiment} on {Path(config.data.path).name}" if config.data.path else config.experiment


def network(config: Config, *, init: bool = True) -> str:
    """The network in a few words."""
    sizes = config.network.hidden
    each = "-".join(map(str, sizes)) or "none"
    hidden = f"{len(sizes)} hidden layers of {sizes[0]}" if alike(sizes) else f"hidden {each}"
    words = [subject(config), *([config.network.init] if init else []), f"{config.network.model}, {hidden}"]
    return " · ".join(words)
