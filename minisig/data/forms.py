"""How a table in a text is written, found out from its beginning.

What separates the cells (, ; tab, | or blanks), whether the first line names the columns, what stands above them, and
whether numbers have a decimal comma.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from minisig.data.cells import PLAIN, decimal_of, is_missing, number
from minisig.errors import DataError

DELIMITERS = (",", ";", "\t", "|", " ")  # blanks in any number, the last that is thought of
SAMPLE = 2**18  # characters from which a file is judged …
MAX_SAMPLE = 2**22  # … and at most so many, where lines are long
SAMPLE_ROWS = 200
SAMPLE_CELLS = 1000
MAX_COLUMNS = 50_000
MAX_CELL = 2**17  # characters


@dataclass(frozen=True)
class Form:
    """How a table is written."""

    names: tuple[str, ...]
    delimiter: str = ","
    decimal: str = "."
    skipped: int = 0  # lines before the first row of data
    header: bool = True
    text: frozenset[str] = frozenset()  # columns that are not of numbers
    notes: tuple[str, ...] = field(default=())


def split(lines: Iterable[str], delimiter: str) -> Any:
    """The rows of these lines, cut into cells."""
    if delimiter == " ":
        return csv.reader((f"{line.strip()}\n" for line in lines), delimiter=" ", skipinitialspace=True)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


@contextmanager
def bounded_cells() -> Iterator[None]:
    """So long and no longer may a cell be, whatever else in this process reads CSV."""
    before = csv.field_size_limit(MAX_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


@bounded_cells()
def find_form(sample: str, where: str, wanted: Sequence[str] = (), *, whole: bool = True) -> Form:
    """How the table is written that begins like this."""
    lines = sample.split("\n")
    if not whole:
        lines = lines[:-1] or lines
    if len(lines[0]) > SAMPLE // 2 and not whole and len(lines) < 2:
        raise DataError(f"{where}: the first line has more than {SAMPLE // 2:,} characters; expected a table as CSV")
    skipped = 0
    notes: list[str] = []
    while skipped < len(lines) - 1 and (not lines[skipped].strip() or lines[skipped].startswith("#")):
        skipped += 1
    if skipped and lines[skipped - 1].startswith("#"):  # a remark, or the names of the columns behind a #
        for delimiter in DELIMITERS:
            words, row = (_rows([line], delimiter)[0] for line in (lines[skipped - 1].lstrip("# "), lines[skipped]))
            named = len(words) == len(row) > 1 and any(PLAIN.fullmatch(cell.strip()) for cell in row)
            if named and not any(PLAIN.fullmatch(cell.strip()) for cell in words):
                skipped -= 1
                lines[skipped] = lines[skipped].lstrip("# ")
                break
    body = lines[skipped : skipped + SAMPLE_ROWS]
    delimiter = _delimiter(body, where, wanted)
    rows = [row for row in _rows(body, delimiter) if any(cell.strip() for cell in row)]
    if not rows:
        raise DataError(f"{where}: no rows of data")
    width = Counter(len(row) for row in rows[1:] or rows).most_common(1)[0][0]
    while len(rows) > 2 and _is_title(rows[0], rows[1], width):
        above = _lines_of(body, delimiter)
        skipped, rows, body = skipped + above, rows[1:], body[above:]
    if width > MAX_COLUMNS:
        raise DataError(f"{where}: {width:,} columns, at most {MAX_COLUMNS:,} are read")
    first = [" ".join(cell.split()) for cell in rows[0]]
    known = set(wanted) & set(first)
    header = (known and 2 * len(known) >= len(set(wanted))) or _is_header(first, rows[1:], width)
    if header:
        if len(first) == width - 1:  # as R writes row names, or every row ends with a delimiter
            first = ["", *first] if any(row[-1].strip() for row in rows[1:] if len(row) == width) else [*first, ""]
        elif len(first) > width and not any(first[width:]):
            first = first[:width]
        width = max(width, len(first))
        skipped += lines[skipped : skipped + 1] != [] and _lines_of(body, delimiter)
    names = _named(first if header else [], width)
    cells = [cell for row in rows[bool(header) :] for cell in row]
    decimal = decimal_of(cells, delimiter)
    if decimal == ",":
        notes.append("numbers have a decimal comma")
    return Form(names, delimiter, decimal, skipped, bool(header), notes=tuple(notes))


def _is_title(first: Sequence[str], second: Sequence[str], width: int) -> bool:
    """Whether the first line stands above the table: it has fewer cells, or one that is not blank, and names follow."""
    filled = sum(bool(cell.strip()) for cell in first)
    if len(first) < width - 1:
        return filled <= max(1, width // 3)
    return filled == 1 and width > 2 and len(second) == width and not any(not c.strip() or _numeric(c) for c in second)


def _lines_of(body: Sequence[str], delimiter: str) -> int:
    """How many lines the first row takes, blank ones before it included."""
    reader = split((f"{line}\n" for line in body), delimiter)
    with suppress(csv.Error):  # where lines are cut without it
        for row in reader:
            if any(cell.strip() for cell in row):
                break
    lines: int = reader.line_num
    return lines


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return list(islice(split((f"{line}\n" for line in lines), delimiter), SAMPLE_ROWS))
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def _delimiter(lines: Sequence[str], where: str, wanted: Sequence[str]) -> str:
    """What cuts the lines into the same number of cells, the first like the others, and these into numbers, and many.

    So a comma between the digits of 1,5;2,5 separates nothing, nor does one in a tab's Smith, John.
    """
    best, found = (0.0, False, 0.0, 0), ""
    for delimiter in DELIMITERS:
        rows = [row for row in _rows(lines, delimiter) if any(cell.strip() for cell in row)]
        width, count = Counter(map(len, rows)).most_common(1)[0] if rows else (1, 0)
        if delimiter == " " and (found or count < 0.9 * len(rows)):
            break
        if width < 2:
            continue
        cells = list(islice((cell for row in rows[1:] or rows for cell in row), SAMPLE_CELLS))
        share = sum(map(_numeric, cells)) / len(cells)
        alike = len(rows[0]) == width or len(rows[0]) == width - 1 > 1
        score = (round(count / len(rows), 1), alike, round(share, 1), width)
        if score > best:
            best, found = score, delimiter
    if not found and wanted:  # one of them may be all there is
        return ","
    if not found:
        line = next((line for line in lines if line.strip()), "")
        raise DataError(
            f"{where}: only one column, beginning with {line[:40]!r}; expected at least one input column and the "
            f"target, separated by commas, semicolons, tabs or blanks"
        )
    return found


def _is_header(first: Sequence[str], rest: Sequence[Sequence[str]], width: int) -> bool:
    """Whether the first line names the columns: by what is in them, or because none of it is a number."""
    if len(first) == width - 1 and rest:
        return True
    columns = [[row[i].strip() for row in rest if i < len(row)] for i in range(len(first))]
    own = list(first[1:] if first[0] == "" else first)
    if rest and own == [str(i) for i in range(len(own))]:  # as pandas writes columns without names
        return len(first) > 3 or first[0] == "" or rest[0][:1] != ["0"]
    votes = against = 0
    for cell, column in zip(first, columns, strict=True):
        if is_missing(cell):
            continue
        told = [value for value in column if not is_missing(value)]
        numeric = sum(_numeric(value) for value in told)
        if _numeric(cell):
            against += 1
        elif told and numeric > 0.8 * len(told):
            votes += 1
    if votes or against:
        return votes > 0
    words = [cell for cell in first if cell]
    repeated = sum(cell in column for cell, column in zip(first, columns, strict=True) if cell)
    return bool(words) and len(set(words)) == len(words) and repeated <= len(words) // 2


def _numeric(cell: str) -> bool:
    return number(cell) is not None or number(cell, ",") is not None or is_missing(cell)


def _named(first: Sequence[str], width: int) -> tuple[str, ...]:
    """A name for every column, none of them twice; "" for one that the header leaves without."""
    names: dict[str, None] = {}
    for i in range(width):
        name = " ".join(first[i].split()) if i < len(first) else "" if first else f"column {i + 1}"
        name = name or f"unnamed {i + 1}"
        unique, number = name, 1
        while unique in names:
            number += 1
            unique = f"{name} ({number})"
        names[unique] = None
    return tuple(names)
