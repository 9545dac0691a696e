"""Reading files that nobody vouches for: gzipped or not, piece by piece, never more than expected."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from minisig.errors import DataError

PIECE = 2**20


def find(folder: Path, *names: str) -> Path | None:
    """The first of these files that the folder holds, as it is or gzipped."""
    paths = (folder / name for plain in names for name in (plain, f"{plain}.gz"))
    return next((path for path in paths if path.is_file()), None)


def require_file(folder: Path, *names: str) -> Path:
    path = find(folder, *names)
    if path is None:
        raise DataError(f"{folder}: holds no {' or '.join(names)}, gzipped or not")
    return path


def require_plain(path: Path) -> None:
    """Refuse what is no file, such as a folder or a pipe that may never end."""
    try:
        if path.is_file():
            return
        there = path.exists()
    except OSError as error:  # a name too long, or a folder that may not be looked into
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    raise DataError(f"{path}: {'not a file' if there else 'no such file'}")


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """The content of a file, unpacked if its name ends in .gz; what goes wrong while it is read is a DataError."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def pieces(file: IO[bytes], most: int) -> Iterator[bytes]:
    """What comes next in the file, at most so many bytes; no memory is taken before there is something to fill it."""
    while most > 0 and (piece := file.read(min(PIECE, most))):
        most -= len(piece)
        yield piece
