"""Files of a run: written whole or not at all, and read as if anybody could have put them there."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from minisig.errors import DataError
from minisig.training.config import Config, decode_config

MOST_BYTES = {".json": 2**24, ".jsonl": 2**30, ".safetensors": 2**35}


@contextmanager
def _in_place_of(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; what is there in the end is flushed to the disk and takes its place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_file(path: Path, content: bytes) -> None:
    with _in_place_of(path) as temporary:
        temporary.write_bytes(content)


def write_tensors(path: Path, arrays: Mapping[str, np.ndarray], metadata: dict[str, str] | None = None) -> None:
    # safetensors writes the memory of a strided view as if it were contiguous.
    contiguous = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    with _in_place_of(path) as temporary:
        try:
            save_file(contiguous, temporary, metadata)
            temporary.chmod(0o644)  # as the other files are; safetensors makes its own for its user alone
        except SafetensorError as error:  # its own name for what the disk refused
            raise OSError(None, str(error)) from None


def read_file(path: Path) -> bytes:
    with _reading(path):
        return path.read_bytes()


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a safetensors file, and its metadata."""
    with _reading(path), safe_open(path, framework="np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118 no mapping


def read_config(folder: Path) -> Config:
    path = folder / "config.json"
    content = read_file(path)
    try:
        return decode_config(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe or a device may never end
            raise DataError(f"{path}: not a file")
        if found.st_size > MOST_BYTES[path.suffix]:
            raise DataError(f"{path}: larger than any such file should be")
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; is {path.parent} a run?") from None
    except (SafetensorError, TypeError, KeyError, AttributeError) as error:  # the last for types that NumPy lacks
        raise DataError(f"{path}: {error}") from None
