"""Tables as text: CSV, TSV and their kin, read in pieces of bounded size.

How a file is written is found out from its beginning, see forms.py. A piece without quotes and gaps is read by the C
parser of NumPy, any other by Python's csv module; both give the same numbers.

    a piece     {name: cells}, cells an array of float64 (NaN for a missing one) or a list of str, as they stand there
"""

import codecs
import csv
import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from minisig.data.cells import numbers
from minisig.data.forms import MAX_SAMPLE, SAMPLE, Form, bounded_cells, find_form, split
from minisig.data.raw import reading, require_plain
from minisig.errors import DataError, one_line

PIECE = 2**22  # characters read at a time
MAX_LINE = 2**24
ODD_SHARE = 0.1  # a column of numbers may have so many cells that are none

Cells = Any  # an array of float64, or a list of str
Piece = dict[str, Cells]


def _windows(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not UTF-8 as what Windows-1252 has for them."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("minisig.windows", _windows)


class NotNumbers(Exception):
    """Columns that began as numbers and go on as text: they must be read again, as text."""

    def __init__(self, columns: Collection[str]) -> None:
        super().__init__(", ".join(columns))
        self.columns = frozenset(columns)


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The text of a file, unpacked if its name ends in .gz."""
    require_plain(path)
    with reading(path) as file, as_text(file) as text:
        yield text


@contextmanager
def as_text(file: IO[bytes]) -> Iterator[IO[str]]:
    buffered: Any = file if hasattr(file, "peek") else io.BufferedReader(file)  # type: ignore[type-var]
    start = buffered.peek(4)[:4]
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = io.TextIOWrapper(buffered, encoding="utf-16" if wide else "utf-8-sig", errors="minisig.windows")
    try:
        yield text
    finally:
        text.detach()


class Delimited:
    """A table in a text, of which the form is known after its first piece was read.

    `names` are columns that are expected: a first line that has them all names the columns, whatever else is in it.
    """

    def __init__(
        self,
        file: IO[str],
        where: str,
        *,
        names: Sequence[str] = (),
        text: Collection[str] = (),
        form: Form | None = None,
    ) -> None:
        self.where = where
        self._file = file
        self._rest = file.read(SAMPLE)
        self._ended = len(self._rest) < SAMPLE
        while not self._ended and len(self._rest) < MAX_SAMPLE and self._rest.count("\n") < 10:
            self._rest += (more := file.read(SAMPLE))
            self._ended = not more
        if not self._rest.strip():
            raise DataError(f"{where}: the file is empty")
        self._require_text(self._rest)
        self.form = form or find_form(self._rest, where, names, whole=self._ended)
        self.form = replace(self.form, text=self.form.text | frozenset(text))
        self.line = self.form.skipped  # lines read so far
        for _ in range(self.form.skipped):
            self._rest = self._rest.partition("\n")[2]
        self.rows = 0
        self.short = 0  # rows that had too few cells

    def pieces(self, *, strict: bool = True) -> Iterator[Piece]:
        """The rows, some at a time.

        If `strict`, a column that turns from numbers to text is NotNumbers, and a line with one cell of many is no row.
        """
        self._strict = strict
        self._numeric: dict[str, bool] = {}
        self._turned: set[str] = set()
        fast = True
        while chunk := self._chunk():
            if not chunk.strip("\n"):  # of which a small gzipped file may have millions
                self.line += len(chunk)
                continue
            piece = self._quick(chunk) if fast and '"' not in chunk else None
            if piece is None:
                rows = self._parsed(chunk)
                if not rows:
                    continue
                piece = self._columns(rows, strict)
            else:
                self.line += chunk.count("\n")
            if not self._turned:
                self.rows += len(next(iter(piece.values())))
                yield piece
        if self._turned:
            raise NotNumbers(self._turned)

    def _chunk(self) -> str:
        """Whole lines."""
        while True:
            cut = self._rest.rfind("\n", 0, PIECE) + 1 or self._rest.find("\n", PIECE) + 1
            if self._ended and (not cut or len(self._rest) <= PIECE):
                cut = len(self._rest)
            if cut or self._ended:
                chunk, self._rest = self._rest[:cut], self._rest[cut:]
                return chunk
            if len(self._rest) > MAX_LINE:
                raise DataError(f"{self.where}, line {self.line + 1:,}: more than {MAX_LINE:,} characters in one line")
            self._fill()

    def _fill(self) -> None:
        more = self._file.read(PIECE)
        self._require_text(more)
        self._ended = not more
        self._rest += more

    def _quick(self, chunk: str) -> Piece | None:
        """The piece by NumPy's parser, if every row has all its cells and those of numbers are numbers."""
        form = self.form
        if not self._numeric or form.decimal != "." or chunk.isspace():
            return None
        kinds = np.dtype([(f"{i}", "f8" if self._numeric[name] else "O") for i, name in enumerate(form.names)])
        lines = chunk.split("\n")
        try:
            delimiter = None if form.delimiter == " " else form.delimiter
            table = np.loadtxt(lines, dtype=kinds, delimiter=delimiter, comments=None, ndmin=1)
        except (ValueError, OverflowError):
            return None
        piece: Piece = {}
        for i, name in enumerate(form.names):
            values = table[f"{i}"]
            if self._numeric[name]:
                piece[name] = values = np.ascontiguousarray(values)
                if not np.isfinite(values).all():
                    return None
            else:
                piece[name] = values.tolist()
        return piece if len(table) else None

    @bounded_cells()
    def _parsed(self, chunk: str) -> list[list[str]]:
        """The rows by the csv module, every one with as many cells as there are columns."""
        width, first, row_starts = len(self.form.names), self.line, 1
        ended = exhausted = False
        more = io.StringIO()

        def lines() -> Iterator[str]:
            nonlocal ended, exhausted, more
            yield from io.StringIO(chunk)
            ended = True
            while text := self._chunk():  # a quoted cell goes on in the next chunk
                more = io.StringIO(text)
                yield from more
            exhausted = True

        rows: list[list[str]] = []
        reader = split(lines(), self.form.delimiter)
        try:
            for row in reader:
                if exhausted:
                    raise csv.Error("a quoted cell never ends")
                whole = row if len(row) == width > 1 else self._mended(row, first + reader.line_num)
                if whole:
                    rows.append(whole)
                if ended:
                    break
                row_starts = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{self.where}, line {first + row_starts:,}: {one_line(error)}; is a quote missing?"
            ) from None
        self._rest = more.read() + self._rest
        self.line = first + reader.line_num
        return rows

    def _mended(self, row: list[str], number: int) -> list[str] | None:
        """A row of another length; None for a line that is no row."""
        width = len(self.form.names)
        filled = sum(bool(cell.strip()) for cell in row)
        if not filled and len(row) <= 1 and (width > 1 or not row):  # a blank line
            return None
        if len(row) > width:
            if any(cell.strip() for cell in row[width:]):
                raise DataError(
                    f"{self.where}, line {number:,}: {len(row)} cells, expected {width} as in the rows before"
                )
            return row[:width]
        if len(row) < width:
            self.short += 1
            if filled == 1 and width > 2 and self._strict:  # a remark under the table
                return None
            return row + [""] * (width - len(row))
        return row

    def _columns(self, rows: list[list[str]], strict: bool) -> Piece:
        piece: Piece = {}
        for name, cells in zip(self.form.names, zip(*rows, strict=True), strict=True):
            was = self._numeric.get(name)
            if name in self.form.text or was is False:
                self._numeric[name] = False
                piece[name] = list(cells)
                continue
            read = numbers(cells, self.form.decimal)
            told = len(cells) - read.missing
            odd = sum(read.odd.values())
            fine = odd == 0 or (odd <= ODD_SHARE * told and len(np.unique(read.values)) > 10)
            if fine and (told or was is not None):
                self._numeric.setdefault(name, True)
                piece[name] = read.values
            elif strict and was and odd:
                self._turned.add(name)
            else:
                if told:  # of a column that is empty so far anything may follow
                    self._numeric[name] = False
                piece[name] = read.values if not told else list(cells)
        for name in self.form.names:
            self._numeric.setdefault(name, True)
        return piece

    def _require_text(self, text: str) -> None:
        if "\0" in text:
            raise DataError(f"{self.where}: not a text, it holds bytes of zero; expected a table as CSV")
