"""Rows as people have them, as cells by the names of their columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minisig.data.prepared import as_word
from minisig.errors import UsageError


def as_columns(rows: Any, names: Sequence[str]) -> dict[str, Any]:
    """Cells by column: an array of float64, or a list of str.

    `rows` are a dict of columns, a frame, a list of dicts, or rows without names that have these columns in this order.
    Where all of these are there, others are not looked at, whatever is in them.
    """
    if isinstance(rows, Mapping):
        columns = {name: _cells(cells) for name, cells in _wanted(rows, rows, names)}
        if len({len(cells) for cells in columns.values()}) > 1:
            raise UsageError(
                f"columns of different lengths: { {name: len(cells) for name, cells in columns.items()} }"[:300]
            )
        return columns
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):  # a frame, whosever
        return {name: _cells(cells) for name, cells in _wanted(rows, rows.columns, names)}
    if isinstance(rows, Sequence) and len(rows) and all(isinstance(row, Mapping) for row in rows):
        present = {name: [row.get(name) for row in rows] for name in {name: None for row in rows for name in row}}
        return {name: _cells(cells) for name, cells in _wanted(present, present, names)}
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        if not len(rows):
            return {name: np.empty(0) for name in names}
        if not all(hasattr(row, "__len__") and not isinstance(row, str | bytes) for row in rows):
            raise UsageError(
                "expected rows: a table, a list of dicts, or a list of rows; of one row make a list: [row]"
            )
        if len({len(row) for row in rows}) > 1:
            raise UsageError(f"rows of different lengths: {sorted({len(row) for row in rows})[:5]}")
        _require_width(len(rows[0]), names)
        return {name: _cells([row[i] for row in rows]) for i, name in enumerate(names)}
    array = np.asanyarray(rows)  # of masked cells it keeps that they are
    if array.ndim != 2:
        raise UsageError(f"expected rows (N, {len(names)}), got {type(rows).__name__} of shape {array.shape}")
    _require_width(array.shape[1], names)
    return {name: _cells(array[:, i]) for i, name in enumerate(names)}


def _wanted(rows: Any, present: Iterable[Any], names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The columns of these names, in this order; all there are if one is missing, for somebody else to tell."""
    by_name = {str(name): name for name in present}
    for name in names if all(name in by_name for name in names) else by_name:
        yield name, rows[by_name[name]]


def _require_width(width: int, names: Sequence[str]) -> None:
    if width != len(names):
        shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise UsageError(f"rows of {width} cells, expected {len(names)}: {shown}; or give the columns by their names")


def _cells(values: Any) -> Any:
    """A column of anything that NumPy, pandas, polars or Python have for one."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"expected a column of single cells, got shape {array.shape}")
    if array.dtype.kind in "fiu":
        found = array.astype(np.float64)
        if np.ma.isMaskedArray(values):
            found[np.ma.getmaskarray(values)] = np.nan
        return found
    if array.dtype.kind == "c":
        raise UsageError("expected real numbers or text, got complex numbers")
    cells = [None if cell is None or str(cell) in ("<NA>", "NaT") else cell for cell in array.tolist()]
    if cells and all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in cells):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    return [as_word(cell) for cell in cells]
