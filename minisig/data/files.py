"""The user's own data, from one file.

    .npz    arrays x_train (N, …), y_train (N,), and optionally x_valid, y_valid, x_test, y_test
    .csv    one row an example, numbers separated by commas, the last column the label; a header line may come first

Labels are integers 0, 1, 2, …; there are as many classes as the largest training label plus one. Where no validation
or test part is given, a tenth of the training rows is held out for it, the same rows for every seed.

Inputs are scaled by what the training part shows: uint8 pixels from 0 … 255 to [−1, 1]; other data are taken as they
are if they lie in [−1, 1], else every column is mapped from its smallest and largest value to [−1, 1].
"""

import warnings
from collections.abc import Callable
from io import BytesIO
from math import isfinite, prod
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED

import numpy as np

from minisig.data.dataset import PARTS, Dataset, Split
from minisig.data.scaling import Scaling, scaled_pixels
from minisig.errors import DataError, one_line

Arrays = dict[str, Any]
MAX_HEADER = 2**14  # bytes before those of an array; numpy refuses headers of more than 10,000, but reads them first
MAX_UNPACKING = 1100  # what zip can do at best is 1032 bytes from one


def load_file(path: Path) -> Dataset:
    """Data from an .npz or .csv file, checked, split and scaled."""
    if not path.exists():
        raise DataError(f"{path}: no such file")
    reader = {".npz": _read_npz, ".csv": _read_csv}.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: expected a .npz or .csv file, or a folder of IDX files")
    arrays = _read(reader, path)
    parts = {
        part: _checked(arrays[f"x_{part}"], arrays[f"y_{part}"], part, path) for part in PARTS if f"x_{part}" in arrays
    }
    classes = _check_together(parts, path)
    image = arrays["x_train"].shape[1:]
    for part in parts:
        if len(image) == 2 and arrays[f"x_{part}"].shape[1:] != image:
            raise DataError(f"{path}: x_{part} has images of shape {arrays[f'x_{part}'].shape[1:]}, x_train of {image}")
    parts = _hold_out(parts, path)
    with np.errstate(all="ignore"):
        train, valid, test = (Split(x, parts[p][1]) for p, x in zip(PARTS, _scaled(parts), strict=True))
    for p, split in zip(PARTS, (train, valid, test), strict=True):
        if not np.isfinite(split.x).all():
            raise DataError(f"{path}: x_{p} has values too large for float32")
    return Dataset(path.name, train, valid, test, classes, image if len(image) == 2 else None)


def _read(reader: Callable[[Path], Arrays], path: Path) -> Arrays:
    try:
        if path.stat().st_size == 0:
            raise DataError(f"{path}: the file is empty")
        return reader(path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8 text; save the file as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


def _read_npz(path: Path) -> Arrays:
    wanted = [f"{letter}_{part}" for part in PARTS for letter in "xy"]
    try:
        # Opened here, since np.load leaves a file open that is no archive.
        with path.open("rb") as raw, warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy warns of headers it had to guess at
            file = np.load(raw, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise DataError(f"{path}: holds a single array; save with np.savez(path, x_train=…, y_train=…)")
            with file:
                names = file.files
                for name in names:
                    if name in wanted:
                        _check_size(file, name, path)
                arrays = {name: file[name] for name in wanted if name in file}
    except (DataError, OSError):
        raise
    except Exception as error:  # numpy, zipfile, ast and tokenize each have their own for a damaged file
        raise DataError(f"{path}: not a readable .npz file ({one_line(error)}); write it with np.savez") from None
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray):
            raise DataError(f"{path}: {name} is not an array; write it with np.savez, as .npz")
    there = ", ".join(name if name.isprintable() else repr(name) for name in names) or "nothing"
    for part in PARTS:
        have = [f"{letter}_{part}" in arrays for letter in "xy"]
        if have != [True, True] and (part == "train" or any(have)):
            raise DataError(f"{path}: x_{part} and y_{part} are both needed; the file holds {there}")
    return arrays


def _check_size(file: Any, name: str, path: Path) -> None:
    """Refuse an array whose header promises another size than there is, before numpy takes memory for it."""
    entry = file.zip.getinfo(f"{name}.npy" if f"{name}.npy" in file.zip.NameToInfo else name)
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # LZMA takes as much memory as the file tells it to
        raise DataError(f"{path}: {name} is compressed as numpy never does; write it with np.savez")
    with file.zip.open(entry) as packed:
        stream = BytesIO(packed.read(MAX_HEADER))
    try:
        old = np.lib.format.read_magic(stream) == (1, 0)
        read_header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
    except ValueError as error:
        raise DataError(
            f"{path}: {name} is not an array ({one_line(error)}); write it with np.savez, as .npz"
        ) from None
    promised, there = prod(shape) * dtype.itemsize, entry.file_size - stream.tell()
    if promised != there or entry.file_size > MAX_UNPACKING * path.stat().st_size:
        raise DataError(f"{path}: the header of {name} promises {promised:,} bytes, shape {shape}, which are not there")


def _read_csv(path: Path) -> Arrays:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = next((line for line in file if line.strip()), "")
        header = bool(first) and not any(_is_number(cell) for cell in first.split(","))
        if not header:
            file.seek(0)
        try:
            table = np.loadtxt(_lines(file, path), delimiter=",", comments=None, ndmin=2)
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            raise DataError(_first_fault(path, header) or f"{path}: {error}") from None
    if not np.isfinite(table).all():
        raise DataError(_first_fault(path, header))
    if table.shape[1] < 2:
        raise DataError(f"{path}: expected at least one input column and the label, got one column")
    if not header and _numbers_columns(table):
        raise DataError(
            f"{path}: the first line, 0 to {table.shape[1] - 1}, numbers the columns and is no example: remove it, or "
            f"save with names for the columns or without a header (pandas: to_csv(…, header=False))"
        )
    return {"x_train": table[:, :-1], "y_train": table[:, -1]}


def _numbers_columns(table: Any) -> bool:
    """Whether the first row is 0, 1, 2, …, with a label that no other row has."""
    last = table.shape[1] - 1
    return bool(len(table) > 1 and (table[0] == np.arange(last + 1)).all() and (table[1:, -1] != last).all())


def _lines(file: Any, path: Path) -> Any:
    """The lines with something on them; np.loadtxt only warns if there are none."""
    some = False
    for line in file:
        if line.strip():
            some = True
            yield line
    if not some:
        raise DataError(f"{path}: no rows of data")


def _first_fault(path: Path, header: bool) -> str:
    """Line and column of the first cell that is not a number, or of the first row of another length."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        width = 0
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            if header:
                header = False
                continue
            row = line.rstrip("\r\n").split(",")
            width = width or len(row)
            if len(row) != width:
                return f"{path}, line {number}: {len(row)} columns, expected {width} as in the rows before"
            for column, cell in enumerate(row, start=1):
                if not (_is_number(cell) and isfinite(float(cell))):
                    hint = "; separate the columns by commas" if ";" in cell or "\t" in cell else ""
                    return f"{path}, line {number}, column {column}: expected a number, got {cell[:40]!r}{hint}"
    return ""


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _checked(x: Any, y: Any, part: str, path: Path) -> tuple[Any, Any]:
    """Inputs as (N, n) and labels as int64 (N,), or a DataError that names the first bad entry."""
    for name, values in ((f"x_{part}", x), (f"y_{part}", y)):
        if values.dtype.kind not in "fiub":
            raise DataError(f"{path}: {name} must hold numbers, got dtype {values.dtype}")
    if x.ndim < 2:
        raise DataError(f"{path}: x_{part} must have a row for each example, got shape {x.shape}")
    if y.ndim != 1 or len(y) != len(x):
        raise DataError(f"{path}: {len(x)} rows in x_{part} need as many labels; y_{part} has shape {y.shape}")
    if x.size == 0:
        raise DataError(f"{path}: x_{part} is empty, shape {x.shape}")
    x = x.reshape(len(x), -1)
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise DataError(
            f"{path}: x_{part} has {x[row, column]} at row {row}, column {column} (from 0); remove or fill it"
        )
    with np.errstate(all="ignore"):  # of signalling NaNs, and long doubles beyond float64
        wrong = ~np.isfinite(y) | (y < 0) | (y != np.floor(y)) | (y.astype(np.float64) >= 2**63)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"{path}: label {y[row]:g} in row {row} (from 0) of y_{part}: expected an integer 0, 1, 2, …")
    return x, y.astype(np.int64)


def _check_together(parts: Arrays, path: Path) -> int:
    x, y = parts["train"]
    classes = int(y.max()) + 1
    if classes > len(y):
        raise DataError(
            f"{path}: label {classes - 1} in y_train, with only {len(y)} training rows; number the classes 0, 1, 2, …"
        )
    if (y == y[0]).all():
        raise DataError(f"{path}: all labels of y_train are {y[0]}; at least two classes are needed")
    for part, (x_part, y_part) in parts.items():
        if (x_part.dtype == np.uint8) != (x.dtype == np.uint8):
            raise DataError(f"{path}: x_{part} is {x_part.dtype} and x_train {x.dtype}; give both as one kind")
        if x_part.shape[1] != x.shape[1]:
            raise DataError(f"{path}: x_{part} has {x_part.shape[1]} inputs a row, x_train has {x.shape[1]}")
        if y_part.max() >= classes:
            raise DataError(f"{path}: label {y_part.max()} in y_{part}, but the training labels are 0 … {classes - 1}")
    return classes


def _hold_out(parts: Arrays, path: Path) -> Arrays:
    """The same with the parts that are missing, each a tenth of the training rows."""
    missing = [part for part in PARTS if part not in parts]
    if not missing:
        return parts
    x, y = parts["train"]
    share = max(1, len(x) // 10)
    if len(x) <= share * len(missing):
        raise DataError(f"{path}: {len(x)} rows are too few to hold out parts for {' and '.join(missing)}")
    order = np.random.default_rng(0).permutation(len(x))
    parts = dict(parts)
    for part in missing:
        parts[part], order = (x[order[:share]], y[order[:share]]), order[share:]
    return parts | {"train": (x[order], y[order])}


def _scaled(parts: Arrays) -> list[Any]:
    """The inputs of all parts as float32 in about [−1, 1]."""
    inputs = [parts[part][0] for part in PARTS]
    if inputs[0].dtype == np.uint8:
        return [scaled_pixels(x) for x in inputs]
    scaling = Scaling.of(inputs[0])
    return [(scaling(x) if scaling else x).astype(np.float32) for x in inputs]
