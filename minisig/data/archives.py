"""Files that lie in a folder or in an archive somebody else has packed, one after the other as streams.

Names inside archives are handed out by their last part alone, to be compared and never used as paths; nothing is
unpacked to disk, and nothing read that was not asked for.
"""

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO

from minisig.errors import DataError, one_line

LARGEST_CONTENT = 2**32  # bytes, unpacked
LARGEST_HEADER = 2**20  # of a member of a .tar archive, of the kinds that may be long
LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def folder_entries(source: Path, name: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Files of the folder, and of the one inside it that is called like the data set."""
    for folder in (source, source / name):
        for path in sorted(folder.glob("*")) if folder.is_dir() else ():
            if path.is_file():
                with suppress(OSError), path.open("rb") as file:
                    yield path.name, file


class _Member(tarfile.TarInfo):
    """A member of a .tar archive, without the long headers that tarfile would read into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Member":
        member = super().frombuf(buf, encoding, errors)
        if member.type in LONG_HEADERS and member.size > LARGEST_HEADER:
            raise ValueError(f"a header of {member.size:,} bytes")
        return member


def archive_entries(source: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Files of an archive by the last part of their names; nothing is unpacked to disk."""
    if not source.is_file():  # a device may be endless
        raise DataError(f"{source}: not a folder, nor a file")
    try:
        if zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                for entry in archive.infolist():
                    if not entry.is_dir():
                        with archive.open(entry) as stream:
                            yield PurePosixPath(entry.filename).name, stream
            return
        with tarfile.open(source, tarinfo=_Member) as tar:
            content = 0
            for member in tar:
                if member.size < 0:  # tarfile would go back, and round for ever
                    raise DataError(f"{source}: {member.name[:60]!r} has a negative size")
                content += member.size
                if content > LARGEST_CONTENT:
                    raise DataError(f"{source}: more than {LARGEST_CONTENT:,} bytes in it")
                file = tar.extractfile(member) if member.isreg() else None
                if file:
                    with file:
                        yield PurePosixPath(member.name).name, file
    except DataError:
        raise
    except Exception as error:  # tarfile and zipfile let through errors of zlib, lzma, struct and more
        reason = one_line(error)
        raise DataError(f"{source}: not a folder, nor a readable .zip or .tar archive ({reason})") from None
