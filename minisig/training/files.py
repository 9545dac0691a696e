"""Files of a run: written whole or not at all, and read as if anybody could have put them there."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from minisig import __version__
from minisig.errors import DataError, UsageError
from minisig.training.config import Config, decode_config

FORMAT = 3  # of a run's folder; 2 has models without their data's preparation, 1 says nothing of itself
MADE_BY = {"format": FORMAT, "version": __version__}  # in config.json and summary.json
MAX_BYTES = {".json": 2**24, ".jsonl": 2**30, ".safetensors": 2**35}


class MadeBy(msgspec.Struct, frozen=True):
    format: Annotated[int, msgspec.Meta(ge=1)] = 1
    version: str = ""


_made_by = msgspec.json.Decoder(MadeBy)


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
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
    with in_place_of(path) as temporary:
        temporary.write_bytes(content)


def write_tensors(path: Path, arrays: Mapping[str, np.ndarray], metadata: dict[str, str] | None = None) -> None:
    # safetensors writes the memory of a strided view as if it were contiguous.
    contiguous = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    with in_place_of(path) as temporary:
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
        require_known_format(content)
        return decode_config(content, tuple(MADE_BY))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, DataError, UsageError) as error:
        raise DataError(f"{path}: {error}") from None


def write_config(folder: Path, config: Config) -> None:
    content = msgspec.json.encode(MADE_BY | msgspec.structs.asdict(config))
    write_file(folder / "config.json", msgspec.json.format(content))


def require_known_format(content: bytes) -> None:
    """Refuse a file of a minisig that knows more than this one."""
    found = _made_by.decode(content)
    if found.format > FORMAT:
        raise DataError(
            f"made by minisig {found.version[:20]}, format {found.format}, this minisig reads up to {FORMAT}: "
            f"update minisig"
        )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe or a device may never end
            raise DataError(f"{path}: not a file")
        if found.st_size > MAX_BYTES[path.suffix]:
            raise DataError(f"{path}: larger than any such file should be")
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; is {path.parent} a run?") from None
    except (SafetensorError, TypeError, KeyError, AttributeError) as error:  # the last for types that NumPy lacks
        raise DataError(f"{path}: {error}") from None
