"""Tables as text: CSV, TSV and their kin, read in pieces of bounded size.

How a file is written is found out from its beginning: what separates the cells (, ; tab, | or blanks), whether the
first line names the columns, whether numbers have a decimal comma. A piece without quotes and gaps is read by the C
parser of NumPy, any other by Python's csv module; both give the same numbers.

    a piece     {name: cells}, cells an array of float64 (NaN for a missing one) or a list of str, as they stand there
"""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from minisig.data.cells import PLAIN, decimal_of, is_missing, number, numbers
from minisig.data.raw import reading, require_plain
from minisig.errors import DataError, one_line

DELIMITERS = (",", ";", "\t", "|", " ")  # blanks in any number, the last that is thought of
SAMPLE = 2**18  # characters from which a file is judged …
MAX_SAMPLE = 2**22  # … and at most so many, where lines are long
SAMPLE_ROWS = 200
SAMPLE_CELLS = 1000
PIECE = 2**22  # characters read at a time
MAX_LINE = 2**24
MAX_COLUMNS = 50_000
ODD_SHARE = 0.1  # a column of numbers may have so many cells that are none

Cells = Any  # an array of float64, or a list of str
Piece = dict[str, Cells]


def _windows(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not UTF-8 as what Windows-1252 has for them."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("minisig.windows", _windows)


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


def split(lines: Iterable[str], delimiter: str) -> Any:
    """The rows of these lines, cut into cells."""
    if delimiter == " ":
        return csv.reader((f"{line.strip()}\n" for line in lines), delimiter=" ", skipinitialspace=True)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


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
