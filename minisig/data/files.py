"""The user's own arrays, from one .npz file.

    .npz    arrays x_train (N, …), y_train (N,), and optionally x_valid, y_valid, x_test, y_test

Labels are integers, and the classes those of the training part. Where no validation or test part is given, a tenth of
the training rows is held out for it, the same rows for every seed. Tables, such as .csv, are read by tables.py.

Inputs are scaled by what the training part shows: uint8 pixels from 0 … 255 to [−1, 1]; other data are taken as they
are if they lie in [−1, 1], else every column is mapped from its smallest and largest value to [−1, 1].
"""

import warnings
from io import BytesIO
from math import prod
from pathlib import Path
from shlex import quote
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED

import numpy as np
from msgspec.structs import replace

from minisig.data.dataset import PARTS, Dataset, Split
from minisig.data.frame import is_table
from minisig.data.hashes import content_hash
from minisig.data.prepared import VectorInputs
from minisig.errors import DataError, one_line

Arrays = dict[str, Any]
MAX_HEADER = 2**14  # bytes before those of an array; numpy refuses headers of more than 10,000, but reads them first
MAX_CLASSES = 10_000
MAX_UNPACKING = 1100  # what zip can do at best is 1032 bytes from one


def load_file(path: Path, prepared: VectorInputs | None = None) -> Dataset:
    """Data from an .npz file, checked, split and scaled: by `prepared`, or as the training part asks for."""
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if is_table(path):
        raise DataError(
            f"{path}: is read as a table now, its columns scaled in another way: what was trained on it by a minisig "
            f"before 0.2 cannot be used; train it again with: minisig train {quote(str(path))}"
        )
    if path.suffix.lower() != ".npz":
        raise DataError(
            f"{path}: expected a table such as .csv, .tsv or .parquet, an .npz file, or a folder of IDX files"
        )
    try:
        if path.stat().st_size == 0:
            raise DataError(f"{path}: the file is empty")
        arrays = _read_npz(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    parts = {
        part: _checked(arrays[f"x_{part}"], arrays[f"y_{part}"], part, path) for part in PARTS if f"x_{part}" in arrays
    }
    image = arrays["x_train"].shape[1:]
    for part in parts:
        if len(image) == 2 and arrays[f"x_{part}"].shape[1:] != image:
            raise DataError(f"{path}: x_{part} has images of shape {arrays[f'x_{part}'].shape[1:]}, x_train of {image}")
    classes = prepared.classes if prepared and prepared.classes else _classes(parts, path)
    _check_together(parts, classes, path)
    parts = _hold_out(parts, path)
    x_train = parts["train"][0]
    if prepared is None:
        with np.errstate(all="ignore"):  # long doubles beyond float64
            prepared = replace(VectorInputs.of(x_train, image if len(image) == 2 else None), classes=classes)
    elif (prepared.inputs, prepared.pixels) != (x_train.shape[1], x_train.dtype == np.uint8):
        raise DataError(f"{path}: x_train has {x_train.shape[1]} inputs of {x_train.dtype}, not those of the model")
    with np.errstate(all="ignore"):
        splits = {p: Split(prepared(x), np.searchsorted(classes, y)) for p, (x, y) in parts.items()}
    for p, split in splits.items():
        if not np.isfinite(split.x).all():
            raise DataError(f"{path}: x_{p} has values too large for float32")
    return Dataset(
        path.name,
        splits["train"],
        splits["valid"],
        splits["test"],
        classes=len(classes),
        image=prepared.image,
        prepared=prepared,
        content=content_hash(str(path)),
    )


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
        wrong = ~np.isfinite(y) | (y != np.floor(y)) | (abs(y.astype(np.float64)) >= 2**63)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"{path}: label {y[row]:g} in row {row} (from 0) of y_{part}: expected an integer")
    return x, y.astype(np.int64)


def _classes(parts: Arrays, path: Path) -> list[int]:
    """The labels of the training part."""
    y = parts["train"][1]
    classes: list[int] = np.unique(y).tolist()
    if len(classes) > MAX_CLASSES:
        raise DataError(f"{path}: y_train has {len(classes):,} different labels, at most {MAX_CLASSES:,}")
    if len(classes) < 2:
        raise DataError(f"{path}: all labels of y_train are {y[0]}; at least two classes are needed")
    return classes


def _check_together(parts: Arrays, classes: list[int], path: Path) -> None:
    x, _ = parts["train"]
    for part, (x_part, y_part) in parts.items():
        if (x_part.dtype == np.uint8) != (x.dtype == np.uint8):
            raise DataError(f"{path}: x_{part} is {x_part.dtype} and x_train {x.dtype}; give both as one kind")
        if x_part.shape[1] != x.shape[1]:
            raise DataError(f"{path}: x_{part} has {x_part.shape[1]} inputs a row, x_train has {x.shape[1]}")
        if (unknown := np.setdiff1d(y_part, classes)).size:
            raise DataError(f"{path}: label {unknown[0]} in y_{part}, but the training labels are {_shown(classes)}")


def _shown(classes: list[int]) -> str:
    return ", ".join(map(str, classes)) if len(classes) < 10 else f"{classes[0]} … {classes[-1]}"


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
