"""Public data sets brought to this machine, from a mirror or from files already on disk.

Nothing gets a data file's name before its content has proved right: it is written to a temporary file beside it, its
hash is taken, and then it is renamed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import IO

from minisig.data.archives import archive_entries, folder_entries
from minisig.data.download import Watch, download_archive, download_file
from minisig.data.public import PublicFile, PublicSet
from minisig.data.raw import pieces
from minisig.errors import DataError, UsageError, writing


def fetch(public: PublicSet, folder: Path, mirrors: Sequence[str] | None = None, watch: Watch | None = None) -> None:
    """Download what is missing or wrong in `folder`, from the first mirror that gives the right file."""
    archives = public.archives if mirrors is None else ()
    with _made(folder):
        _download(public, folder, mirrors or public.mirrors, archives, watch)


def bring(public: PublicSet, source: Path, folder: Path) -> None:
    """Copy what is missing or wrong in `folder` from another folder, or from a .zip or .tar archive, at `source`."""
    if not source.exists():
        raise UsageError(f"{source}: no such folder or file")
    missing = {name: file for file in _wanted(public, folder) for name in file.names}
    faults: dict[str, str] = {}
    entries = folder_entries(source, public.name) if source.is_dir() else archive_entries(source)
    with _made(folder):
        for name, stream in entries:
            if name not in missing:
                continue
            file = missing[name]
            if fault := _install(stream, name, file, folder):
                faults[name] = fault
            else:
                for other in file.names:
                    del missing[other]
    if missing:
        file = next(iter(missing.values()))
        fault = next(
            (f"{name} there is not the published file: {faults[name]}" for name in faults if name in missing), None
        )
        raise DataError(f"{source}: {fault or f'holds no {file.name}, gzipped or not'}")


def _download(
    public: PublicSet, folder: Path, mirrors: Sequence[str], archives: Sequence[str], watch: Watch | None
) -> None:
    for file in _wanted(public, folder):
        failures = []
        for mirror in mirrors:
            if failure := download_file(file, mirror, folder, watch):
                failures.append(f"{mirror}: {failure}")
            else:
                break
        else:
            for archive in archives:
                if failure := _bring_archive(public, archive, folder, watch):
                    failures.append(f"{archive}: {failure}")
                else:
                    return
            raise DataError(
                f"{file.download} could not be fetched; with files from elsewhere, use 'minisig data fetch "
                f"{public.name} --from PATH'\n" + "\n".join(f"  {failure}" for failure in failures)
            )


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """The folder is made if need be, and not left behind if nothing came: it would look like the data."""
    with writing(folder):
        new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for place in new:
            with suppress(OSError):  # which says that it is not empty
                place.rmdir()


def _wanted(public: PublicSet, folder: Path) -> list[PublicFile]:
    """The files that are not in `folder` yet, or not as published."""
    missing = []
    for file in public.files:
        path = file.find(folder)
        fault = file.fault(path) if path else "missing"
        if path and fault and path.name == file.name != file.download:
            raise DataError(f"{path} is not the published file ({fault}) and would be read in its place: move it away")
        if fault:
            missing.append(file)
    return missing


def _bring_archive(public: PublicSet, url: str, folder: Path, watch: Watch | None) -> str | None:
    """Get all files from an archive: what it holds is checked file by file."""
    with TemporaryDirectory(dir=folder, prefix=".fetch-") as temporary:
        path = Path(temporary) / PurePosixPath(url).name
        if failure := download_archive(url, path, watch):
            return failure
        try:
            bring(public, path, folder)
        except DataError as error:
            return str(error).removeprefix(f"{path}: ")
    return None


def _install(stream: IO[bytes], name: str, file: PublicFile, folder: Path) -> str | None:
    """Put the content of `stream` into `folder` if it is right; what is wrong with it, if not."""
    try:
        content = b"".join(pieces(stream, file.size + 2**20))  # packing may have made it a little larger
    except Exception as error:  # of zipfile, zlib, lzma or the disk
        return f"cannot be read: {error}"
    with writing(folder):
        with NamedTemporaryFile(dir=folder, prefix=".fetch-", suffix=Path(name).suffix, delete=False) as temporary:
            path = Path(temporary.name)
        try:
            path.write_bytes(content)
            if fault := file.fault(path):
                return fault
            path.chmod(0o644)
            path.replace(folder / name)
            if name != file.name:  # a plain file beside it was wrong, and would be read in its place
                (folder / file.name).unlink(missing_ok=True)
        finally:
            path.unlink(missing_ok=True)
    return None
