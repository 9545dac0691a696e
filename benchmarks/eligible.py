"""What a sensible person would say of a file: is it a table to learn from? By rough rules, and without minisig.

A file is eligible if it is a table of 60 to 6,000 rows with two or more usable columns. It is read so:

- UTF-16 if it says so, else UTF-8, else Latin-1; compressed by gzip or not.
- Comments, which begin with #, and empty lines are left out. The separator is a tab, a semicolon, a bar or a comma, the
  first that divides 95 % of the rows into equally many cells, else the one that comes nearest; blanks if none divides
  them.
- Rows before the first of the usual width are left out, as a title would be. If fewer than 95 % of the others have that
  width, or have none but one cell, it is no table.
- The first row is a header if no cell of it is a number, or if a cell of it is none above a column of numbers.

A column is usable unless it is

- empty: fewer than half of its cells are there (NA, ?, -, . and their like are missing cells);
- constant;
- dates or times, nine of ten;
- an identifier: whole numbers that go up by one from row to row or all differ under a name like id or under none, or
  words of which more than nine in ten are different;
- free text: words of more than 50 characters on average, or more than 20 different ones and more than half of the rows.

Numbers may have a sign of money or percent, commas between thousands, and a decimal comma unless commas separate cells.
"""

import csv
import gzip
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from pathlib import Path

ROWS = 60, 6000
USABLE = 2
LARGE = 30_000_000  # bytes

Rows = list[list[str]]

_NONE = ("NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN")  # but Na is sodium
_MISSING = frozenset(("", "?", "-", "--", ".", *_NONE, "NULL", "Null", "null", "None", "none", "Missing", "missing"))
_NUMBER = re.compile(r"[-+]?[$€£]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?(e[-+]?\d+)?\s?%?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[-+]?\d{1,3}((\.\d{3})+|\d*),\d+")
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([ T]\d{1,2}:.*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?"
    r"|(\d{1,2}[-/ ])?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/ .,]+\d{1,4}.*"
    r"|\d{4} ?[-:]?[qmw]\d{1,2}",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"|.*[ ._-]id|id[ ._-].*|id|.*ID|rownames|unnamed.*|index|key|no\.?|nr\.?|code|#")
_COMMENT = re.compile(r"#[^\t;|,]")  # "#,name" is a header

csv.field_size_limit(LARGE)


@dataclass(frozen=True)
class Judgement:
    rows: int
    columns: int
    numeric: int  # columns of numbers …
    text: int  # … and of anything else; of neither kind if a file is no table
    usable: int
    separator: str  # a blank for any number of them
    why: str  # a file is not eligible; "" if it is

    @property
    def eligible(self) -> bool:
        return not self.why


def judge(path: Path) -> Judgement:
    """What the rules above make of a file."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    if not content.strip():
        return Judgement(0, 0, 0, 0, 0, "", "empty")
    if (text := decoded(content)) is None:
        return Judgement(0, 0, 0, 0, 0, "", "not text")
    separator = separator_of(text)
    names, rows = _table(_cells(text, separator), separator)
    width = len(names)
    if width < 2:
        return Judgement(len(rows), width, 0, 0, 0, "", "one column")
    whole = [row for row in rows if len(row) == width]
    cells = zip(*whole, strict=True) if whole else [()] * width
    columns = [_Column(name, column, separator) for name, column in zip(names, cells, strict=True)]
    numeric = sum(column.numeric for column in columns)
    usable = sum(column.usable() for column in columns)
    why = ""
    if len(whole) < 0.95 * len(rows):
        why = "ragged"
    elif len(rows) < ROWS[0]:
        why = f"fewer than {ROWS[0]} rows"
    elif len(rows) > ROWS[1]:
        why = f"more than {ROWS[1]:,} rows"
    elif usable < USABLE:
        why = "fewer than two usable columns"
    return Judgement(len(rows), width, numeric, width - numeric, usable, separator, why)


def _table(rows: Rows, separator: str) -> tuple[list[str], Rows]:
    """The names of the columns, "" for those without, and the rows below them."""
    width = _usual(rows)
    start = next((i for i, row in enumerate(rows) if len(row) == width or len(row) == width - 1 > 1), 0)
    rows = rows[start:]
    if rows and len(rows[0]) == width - 1:  # as R writes them: the column of the rows' names has none
        return ["", *rows[0]], rows[1:]
    if rows and _is_header(rows, separator):
        return rows[0], rows[1:]
    return [""] * width, rows


def looks_like_table(text: str, blanks: bool) -> bool:
    """Three columns and twenty rows, nearly all of them whole; separated by blanks only if they may be."""
    separator = separator_of(text)
    rows = _cells(text, separator)
    width = _usual(rows)
    whole = sum(len(row) == width for row in rows)
    return width >= 3 and whole >= 20 and whole >= 0.95 * len(rows) and (separator != " " or blanks)


def decoded(content: bytes) -> str | None:
    """None if it is no text."""
    for encoding in ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "latin-1"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        odd = sum(ord(sign) < 32 and sign not in "\t\n\r\f\x1a" for sign in text[:10_000])
        return text if odd <= len(text[:10_000]) // 100 else None
    return None


def separator_of(text: str) -> str:
    """A blank stands for any number of them, and is the last to be thought of."""
    start = text[:50_000]
    if len(text) > len(start):
        start = start[: start.rfind("\n") + 1] or start
    shares: dict[str, float] = {}
    for separator in "\t;|,":
        rows = _cells(start, separator)
        if (width := _usual(rows)) > 1:
            shares[separator] = sum(len(row) == width for row in rows) / len(rows)
            if shares[separator] >= 0.95 and len(rows[0]) >= width - 1:
                return separator
    best = max(shares, key=shares.__getitem__, default=" ")
    return best if shares.get(best, 0) >= 0.7 else " " if _usual(_cells(start, " ")) > 1 else best


def _cells(text: str, separator: str) -> Rows:
    lines = [line for line in StringIO(text, newline=None) if line.strip() and not _COMMENT.match(line)]
    if separator == " ":
        return [line.split() for line in lines]
    try:
        rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
    except csv.Error:
        rows = list(csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE))
    return [[cell.strip() for cell in row] for row in rows if any(row)]


def _usual(rows: Rows) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def _is_header(rows: Rows, separator: str) -> bool:
    first = [_is_number(cell, separator) for cell in rows[0]]
    if not any(first):
        return True
    below = [row for row in rows[1:1000] if len(row) == len(first)]
    columns = [_Column("", cells, separator) for cells in zip(*below, strict=True)]
    return any(
        column.numeric and not number and cell not in _MISSING
        for column, number, cell in zip(columns, first, rows[0], strict=False)
    )


def _is_number(cell: str, separator: str) -> bool:
    if separator != "," and _DECIMAL_COMMA.fullmatch(cell):
        return True
    return any(sign.isdigit() for sign in cell) and _NUMBER.fullmatch(cell) is not None


class _Column:
    def __init__(self, name: str, cells: Sequence[str], separator: str) -> None:
        self.name, self.count = name, len(cells)
        self.cells = [cell for cell in cells if cell not in _MISSING]
        numbers = sum(_is_number(cell, separator) for cell in self.cells)
        self.numeric = bool(self.cells) and numbers >= 0.95 * len(self.cells)

    def usable(self) -> bool:
        different = len(set(self.cells))
        if len(self.cells) < self.count / 2 or different < 2:
            return False
        if self.numeric:
            whole = all(cell.isdecimal() for cell in self.cells)
            named = different == self.count and _IDENTIFIER.fullmatch(self.name)
            return not (whole and (named or self._counts()))
        if sum(_DATE.fullmatch(cell) is not None for cell in self.cells) >= 0.9 * len(self.cells):
            return False
        long = sum(map(len, self.cells)) > 50 * len(self.cells)
        return not long and different <= 0.9 * len(self.cells) and different <= max(20, self.count / 2)

    def _counts(self) -> bool:
        """1, 2, 3 and so on."""
        return all(after - before == 1 for before, after in pairwise(map(int, self.cells)))
