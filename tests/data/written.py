"""Tables as text, and a plain reading of them: a second opinion on what `Delimited` makes of a file."""

import csv
import gzip
import io

import numpy as np

from minisig.data.cells import is_missing, number
from minisig.data.delimited import Delimited, as_text
from minisig.data.frame import Text


class Refused(Exception):
    pass


def as_file(text):
    return as_text(io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def form_of(text, /, **options):
    with as_file(text) as file:
        return Delimited(file, "it", **options).form


def joined(text, /, **options):
    """The cells of all pieces by column, as lists."""
    with as_file(text) as file:
        found = {}
        for piece in Delimited(file, "it", **options).pieces():
            for name, cells in piece.items():
                found.setdefault(name, []).extend(cells)
        return found


def columns_of(frame):
    """A frame's columns as lists of numbers or of words, "" for a missing one."""
    return {
        name: ["" if is_missing(cell) else cell for cell in column.cells()]
        if isinstance(column, Text)
        else column.tolist()
        for name, column in frame.columns.items()
    }


def plainly(text, form):
    """The same by the csv module and a loop over all cells, the whole text at once."""
    rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n", form.skipped)[form.skipped :]
    found = "".join(rest) + "\nEND"
    if form.delimiter == " ":
        found = "\n".join(line.strip() for line in found.split("\n"))
    rows = list(csv.reader(io.StringIO(found), delimiter=form.delimiter, skipinitialspace=True))
    if rows.pop() != ["END"]:
        raise Refused("a quote is open")
    width, kept = len(form.names), []
    for row in rows:
        filled = [cell for cell in row if cell.strip()]
        if len(row) <= 1 and not filled:
            continue
        if any(cell.strip() for cell in row[width:]):
            raise Refused("too long")
        if len(row) < width and len(filled) == 1 and width > 2:
            continue
        kept.append((row + [""] * width)[:width])
    if not kept:
        raise Refused("empty")
    found = {}
    for name, cells in zip(form.names, zip(*kept, strict=True), strict=True):
        read = [np.nan if is_missing(cell) else number(cell, form.decimal) for cell in cells]
        words = ["" if is_missing(cell) else cell.strip() for cell in cells]
        found[name] = words if None in read else read
    return found


def assert_same_columns(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, cells in ours.items():
        assert len(cells) == len(theirs[name])
        if cells and isinstance(cells[0], str):
            assert cells == theirs[name]
        else:
            np.testing.assert_array_equal(cells, np.array(theirs[name], np.float64))


def lines(*rows, delimiter=","):
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def dialect(columns, *, delimiter=",", quoting=csv.QUOTE_MINIMAL, end="\n", decimal=".", bom=False, gz=False):
    """These columns as a file's bytes."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([cell if isinstance(cell, str) else repr(cell).replace(".", decimal) for cell in row])
    content = file.getvalue().encode("utf-8-sig" if bom else "utf-8")
    return gzip.compress(content, mtime=0) if gz else content
