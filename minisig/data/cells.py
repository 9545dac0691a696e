"""What a cell of a table says: a number, a word, or nothing.

A number may be written as 1234.5, −1.5e3, 1,234.5, $ 12.50 or 45 %, and with a decimal comma where the file has one.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]  # NaN where a cell says nothing

MISSING = frozenset(
    {
        "",
        "na",
        "n/a",
        "n.a.",
        "nan",
        "null",
        "none",
        "nil",
        "?",
        "-",
        "--",
        ".",
        "..",
        "#n/a",
        "#na",
        "#value!",
        "#div/0!",
    }
    | {"-nan", "<na>", "missing", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"}
)
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)  # 0,123 is not: a comma before decimals
COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+", re.ASCII)
DRESS = re.compile(r"[$£€¥]\s*|\s*[%€]$")  # what stands around a number and does not change which is the larger
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})|\d{1,2}[- ][a-z]{3,9}[- ,]+\d{2,4}"
    r"|[a-z]{3,9}\.? \d{1,2},? \d{4}|[a-z]{3,9}[- ]\d{2,4}|\d{4}[ -]?q[1-4])([t ]+\d{1,2}:\d{2}.*)?"
    r"|(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d{4}.*|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?",
    re.ASCII | re.IGNORECASE,
)


class Read(NamedTuple):
    """Cells read as numbers."""

    values: Numbers
    odd: dict[str, int]  # cells that are neither a number nor missing, and how often each comes
    missing: int


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def is_date(cell: str) -> bool:
    """A day, a month, a quarter or a time of the day.

    >>> [is_date(cell) for cell in ("2020-01-31", "31.01.20", "Jan 5, 2020", "12:30", "12.5", "May")]
    [True, True, True, True, False, False]
    """
    return bool(DATE.fullmatch(cell.strip()))


def number(cell: str, decimal: str = ".") -> float | None:
    """The number that a cell says, None if it says none.

    >>> number("1,234.5"), number("$ 12.50"), number("45 %"), number("1,5", decimal=","), number("2019_01")
    (1234.5, 12.5, 45.0, 1.5, None)
    """
    text = cell.strip().replace("\u2212", "-")
    if PLAIN.fullmatch(text):
        return _finite(text)
    text = DRESS.sub("", text)
    if decimal == ",":
        if COMMA.fullmatch(text) or GROUPED_COMMA.fullmatch(text):
            return _finite(text.replace(".", "").replace(",", "."))
    elif GROUPED.fullmatch(text):
        return _finite(text.replace(",", ""))
    return _finite(text) if PLAIN.fullmatch(text) else None


def _finite(text: str) -> float:
    value = float(text)
    return value if np.isfinite(value) else np.nan  # 1e999


def numbers(cells: Sequence[str], decimal: str = ".") -> Read:
    """All cells as numbers; those that are none are NaN."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
        text = "".join(cells)  # float takes 2019_01 for a number, and ٣
        if np.isfinite(values).all() and "_" not in text and text.isascii():
            return Read(values, {}, 0)
    except ValueError:
        pass
    known: dict[str, float] = {}
    odd: dict[str, int] = {}
    values = np.empty(len(cells))
    missing = 0
    for i, cell in enumerate(cells):
        value = known.get(cell)
        if value is None:
            if is_missing(cell):
                value = np.nan
            elif (read := number(cell, decimal)) is None:
                odd[cell] = odd.get(cell, 0) + 1
                values[i] = np.nan
                continue
            else:
                value = read
            if len(known) < 100_000:
                known[cell] = value
        missing += value != value
        values[i] = value
    return Read(values, odd, missing)


def decimal_of(cells: Sequence[str], delimiter: str) -> str:
    """The decimal mark of a file by some of its cells: a comma where numbers leave no other reading.

    >>> decimal_of(["1,5", "12,25"], ";"), decimal_of(["1,234", "1.5"], ";"), decimal_of(["1,234"], ";")
    (',', '.', '.')
    """
    if delimiter == ",":
        quoted = [cell for cell in cells if "," in cell]
        return "," if quoted and _commas(quoted) and not any(_point(cell) for cell in cells) else "."
    return "," if _commas(cells) and not any(_point(cell) for cell in cells) else "."


def _commas(cells: Sequence[str]) -> bool:
    bare = (DRESS.sub("", cell.strip().replace("\u2212", "-")) for cell in cells if "," in cell)
    return any(
        (COMMA.fullmatch(cell) and not GROUPED.fullmatch(cell)) or GROUPED_COMMA.fullmatch(cell) for cell in bare
    )


def _point(cell: str) -> bool:
    return "." in cell and bool(PLAIN.fullmatch(DRESS.sub("", cell.strip().replace("\u2212", "-"))))
