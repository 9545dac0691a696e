"""Parquet, by pyarrow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minisig.data.forms import MAX_COLUMNS
from minisig.data.prepared import as_word
from minisig.data.raw import require_plain
from minisig.errors import DataError, MinisigError, one_line, printable

BATCH = 65_536  # rows …
BATCH_CELLS = 2**22  # … or so many cells


def parquet_pieces(path: Path) -> Iterator[dict[str, Any]]:
    """The rows, some at a time, as delimited.py gives them."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MinisigError(f"{path}: Parquet needs pyarrow: pip install 'minisig[parquet]'") from None
    require_plain(path)
    try:
        with ParquetFile(path) as file:
            width = len(file.schema_arrow.names)
            if width > MAX_COLUMNS:
                raise DataError(f"{path}: {width:,} columns, at most {MAX_COLUMNS:,} are read")
            for batch in file.iter_batches(max(1, min(BATCH, BATCH_CELLS // max(1, width)))):
                piece: dict[str, Any] = {}
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    piece[_unused(name or f"unnamed {len(piece) + 1}", piece)] = _cells(column, pa)
                if piece and len(batch):
                    yield piece
    except (MinisigError, MemoryError):
        raise
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or printable(one_line(error))}") from None
    except Exception as error:  # of Arrow, which has many
        raise DataError(f"{path}: not a readable Parquet file ({printable(one_line(error))})") from None


def _unused(name: str, taken: dict[str, Any]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name} ({number})"
    return unique


def _cells(column: Any, pa: Any) -> Any:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64).copy()
        values[~np.isfinite(values)] = np.nan
        return values
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):  # text that was not declared as such
        return [as_word(value and value.decode("utf-8", "replace"))[:10_000] for value in column.to_pylist()]
    return [as_word(value)[:10_000] for value in column.to_pylist()]
