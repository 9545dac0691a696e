"""A whole table in memory: a column of numbers is an array, a column of text its distinct cells and which of them.

read_table(path)        from CSV, TSV and their kin, gzipped or not, or from Parquet
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minisig.data.cells import Numbers, is_missing
from minisig.data.delimited import Delimited, NotNumbers, Piece, as_text, opened
from minisig.data.prepared import as_word
from minisig.errors import DataError

MAX_CELLS = 2**28  # of a table that is trained on: two gigabytes of numbers
MAX_DISTINCT = 10_000  # cells of a column of text
TEXTS = (".csv", ".tsv", ".tab", ".dat", ".data")
SUFFIXES = (*TEXTS, *(f"{end}.gz" for end in TEXTS), ".parquet", ".pq")


@dataclass
class Text:
    """A column of text: values[codes[row]], "" for a missing cell. `more` of them than are kept: codes end early."""

    values: list[str]
    codes: NDArray[np.int32]
    more: bool = False

    @classmethod
    def of(cls, numbers: Numbers) -> "Text":
        """Numbers that are names."""
        values, codes = np.unique(numbers, return_inverse=True)
        return cls([as_word(value) for value in values.tolist()], codes.astype(np.int32))

    @property
    def counts(self) -> dict[str, int]:
        """How often each value comes, missing ones left out."""
        found = np.bincount(self.codes, minlength=len(self.values)).tolist()
        return {value: n for value, n in zip(self.values, found, strict=True) if n and not is_missing(value)}

    @property
    def gone(self) -> NDArray[np.bool_]:
        """Which rows say nothing."""
        missing = np.array([is_missing(value) for value in self.values], dtype=bool)
        return missing[self.codes]

    def cells(self, rows: NDArray[np.int64] | slice = slice(None)) -> list[str]:
        return [self.values[code] for code in self.codes[rows].tolist()]


@dataclass
class Frame:
    columns: dict[str, Numbers | Text]
    rows: int
    decimal: str = "."
    header: bool = True
    notes: list[str] = field(default_factory=list)
    kept: NDArray[np.int64] | None = None  # which rows of the file these are; all, if it does not say


def is_table(path: Path | str) -> bool:
    """Whether a file is a table by its name."""
    return str(path).lower().endswith(SUFFIXES)


def is_parquet(path: Path | str) -> bool:
    return str(path).lower().endswith((".parquet", ".pq"))


def read_table(path: Path, text: Collection[str] = ()) -> Frame:
    """The table in this file, these columns of it as text whatever they look like."""
    if is_parquet(path):
        from minisig.data.parquet import parquet_pieces

        return _gathered(path, parquet_pieces(path), ".")
    text = frozenset(text)
    while True:
        with opened(path) as file:
            table = Delimited(file, str(path), text=text)
            try:
                frame = _gathered(path, table.pieces(), table.form.decimal)
            except NotNumbers as error:
                text |= error.columns
                continue
            frame.header = table.form.header
            frame.notes += table.form.notes
            if table.short:
                frame.notes.append(f"{table.short:,} lines with too few cells; what lacks is missing")
            return frame


def table_pieces(path: Path | None, names: Sequence[str], rows: int, text: Collection[str] = ()) -> Iterator[Piece]:
    """The table in this file, or in what comes from standard input, as pieces of so many rows, the last one shorter.

    However large it is, only a piece of it is in memory at a time. `names` are columns that are expected, and `text`
    those that are read as text whatever they look like.
    """
    if path is None:
        with os.fdopen(os.dup(0), "rb") as raw, as_text(raw) as file:
            yield from _of_text(Delimited(file, "standard input", names=names, text=text), rows)
    elif is_parquet(path):
        from minisig.data.parquet import parquet_pieces

        yield from even(parquet_pieces(path), rows)
    else:
        with opened(path) as file:
            yield from _of_text(Delimited(file, str(path), names=names, text=text), rows)


def _of_text(table: Delimited, rows: int) -> Iterator[Piece]:
    """Of a table without rows one piece all the same, which has its columns."""
    yield from even(table.pieces(strict=False), rows)
    if not table.rows:
        yield {name: [] for name in table.form.names}


def even(pieces: Iterator[Piece], rows: int) -> Iterator[Piece]:
    """The same rows in pieces of one size."""
    waiting: list[Piece] = []
    have = 0
    for piece in pieces:
        waiting.append(piece)
        have += _length(piece)
        if have < rows:
            continue
        whole = {name: _joined([one[name] for one in waiting]) for name in piece}
        for start in range(0, have - rows + 1, rows):
            yield {name: cells[start : start + rows] for name, cells in whole.items()}
        left = have - have % rows
        waiting, have = [{name: cells[left:] for name, cells in whole.items()}], have % rows
    if have:
        yield {name: _joined([one[name] for one in waiting]) for name in waiting[0]}


def _length(piece: Piece) -> int:
    return len(next(iter(piece.values())))


def _joined(parts: list[Any]) -> Any:
    """Cells of several pieces, which may be numbers in one and text in the next."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [word for part in parts for word in (map(as_word, part.tolist()) if isinstance(part, np.ndarray) else part)]


class _Growing:
    """A column while it is read."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.known: dict[str, int] | None = None  # of text, without the space around it
        self.raw: dict[str, int] = {}  # and with it
        self.empty = 0  # cells before the first that says something
        self.more = False

    def add(self, cells: Any) -> None:
        if self.more:
            return
        if isinstance(cells, np.ndarray):
            if self.known is not None:  # a stretch without a cell in a column of text
                cells = [""] * len(cells)
            else:
                self.parts.append(cells)
                return
        if self.known is None:
            self.known = {"": 0}
            self.parts = [np.zeros(len(part), np.int32) for part in self.parts]  # all of them missing so far
        known = self.known
        for cell in dict.fromkeys(cells):
            if cell not in self.raw:
                self.raw[cell] = known.setdefault(cell.strip(), len(known))
        self.parts.append(np.fromiter(map(self.raw.__getitem__, cells), np.int32, len(cells)))
        self.more = len(self.raw) > MAX_DISTINCT

    def column(self) -> Numbers | Text:
        whole = np.concatenate(self.parts) if self.parts else np.empty(0)
        self.parts = []
        return whole if self.known is None else Text(list(self.known), whole.astype(np.int32, copy=False), self.more)


def _gathered(path: Path, pieces: Iterator[Piece], decimal: str) -> Frame:
    columns: dict[str, _Growing] = {}
    rows = 0
    for piece in pieces:
        columns = columns or {name: _Growing() for name in piece}
        rows += _length(piece)
        if rows * len(columns) > MAX_CELLS:
            raise DataError(f"{path}: more than {MAX_CELLS:,} cells; train on a part of it")
        for name, cells in piece.items():
            columns[name].add(cells)
    if not rows:
        raise DataError(f"{path}: no rows of data")
    return Frame({name: column.column() for name, column in columns.items()}, rows, decimal)


def most_common(column: Text) -> list[tuple[str, int]]:
    """Values and how often they come, the most frequent first, ties in the order of the alphabet."""
    return sorted(column.counts.items(), key=lambda item: (-item[1], item[0]))
