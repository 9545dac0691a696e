"""Public data sets brought to this machine, from a mirror or from files already on disk.

Nothing gets a data file's name before its content has proved right: it is written to a temporary file beside it, its
hash is taken, and then it is renamed. Names inside archives are compared with ours and never used as paths.
"""

import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile, TemporaryDirectory
from time import monotonic
from typing import IO, Any

from minisig.data.public import PublicFile, PublicSet
from minisig.data.raw import pieces
from minisig.errors import DataError, MinisigError, UsageError

Watch = Callable[[str, int, int], None]  # name of the file, bytes that are there, bytes to come in all

RETRIES = 2  # of every mirror
SILENCE = 30.0  # seconds a server may take for its next word
SLOWEST = 4096  # bytes a second, on the whole
LARGEST_ARCHIVE = 2**28  # bytes, packed
LARGEST_CONTENT = 2**32  # and unpacked
LARGEST_HEADER = 2**20  # of a member of a .tar archive, of the kinds that may be long
LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def fetch(public: PublicSet, folder: Path, mirrors: Sequence[str] | None = None, watch: Watch | None = None) -> None:
    """Download what is missing or wrong in `folder`, from the first mirror that gives the right file."""
    archives = public.archives if mirrors is None else ()
    for file in wanted(public, folder):
        failures = []
        for mirror in mirrors or public.mirrors:
            if failure := _download(file, mirror, folder, watch):
                failures.append(f"{mirror}: {failure}")
            else:
                break
        else:
            for archive in archives:
                if failure := _download_archive(public, archive, folder, watch):
                    failures.append(f"{archive}: {failure}")
                else:
                    return
            raise DataError(
                f"{file.download} could not be fetched; with files from elsewhere, use 'minisig data fetch "
                f"{public.name} --from PATH'\n" + "\n".join(f"  {failure}" for failure in failures)
            )


def bring(public: PublicSet, source: Path, folder: Path) -> None:
    """Copy what is missing or wrong in `folder` from another folder, or from a .zip or .tar archive, at `source`."""
    if not source.exists():
        raise UsageError(f"{source}: no such folder or file")
    missing = {name: file for file in wanted(public, folder) for name in file.names}
    faults: dict[str, str] = {}
    entries = _folder_entries if source.is_dir() else _archive_entries
    for name, stream in entries(source, public.name):
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
        raise DataError(f"{source}: {fault or f'holds neither {file.name} nor {file.name}.gz'}")


def wanted(public: PublicSet, folder: Path) -> list[PublicFile]:
    """The files that are not in `folder` yet, or not as published; the folder is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MinisigError(f"cannot make the folder {folder}: {error.strerror or error}") from None
    missing = []
    for file in public.files:
        path = file.find(folder)
        fault = file.fault(path) if path else "missing"
        if path and fault and path.name == file.name != file.download:
            raise DataError(f"{path} is not the published file ({fault}) and would be read in its place: move it away")
        if fault:
            missing.append(file)
    return missing


def _download(file: PublicFile, mirror: str, folder: Path, watch: Watch | None) -> str | None:
    """Get one file by pooch, which checks the hash, tries again and renames; what went wrong in the end, if at all."""
    pooch = _pooch()
    store = pooch.create(
        path=folder.absolute(),  # or pooch takes ~ for the home folder
        base_url=mirror if mirror.endswith("/") else f"{mirror}/",
        registry={file.download: f"sha256:{file.download_sha256}"},
        retry_if_failed=RETRIES,
    )
    return _attempt(lambda: store.fetch(file.download, downloader=_transfer(file.download_size, watch)), folder)


def _download_archive(public: PublicSet, url: str, folder: Path, watch: Watch | None) -> str | None:
    """Get all files from an archive, whose own hash nobody published: what it holds is checked file by file."""
    pooch = _pooch()
    with TemporaryDirectory(dir=folder, prefix=".fetch-") as temporary:
        name = PurePosixPath(url).name
        download = _transfer(LARGEST_ARCHIVE, watch)
        if failure := _attempt(lambda: pooch.retrieve(url, None, name, temporary, downloader=download), folder):
            return failure
        try:
            bring(public, Path(temporary) / name, folder)
        except DataError as error:
            return str(error).removeprefix(f"{Path(temporary) / name}: ")
    return None


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise MinisigError("downloading needs pooch: pip install 'minisig[data]', or use --from PATH") from None
    pooch.get_logger().setLevel("ERROR")
    return pooch


def _attempt(download: Callable[[], Any], folder: Path) -> str | None:
    from requests.exceptions import HTTPError, RequestException, Timeout

    try:
        download()
    except HTTPError as error:
        return f"the server answered {error.response.status_code if error.response is not None else 'nonsense'}"
    except Timeout:
        return f"no answer for {SILENCE:g} seconds"
    except RequestException as error:
        return f"the connection failed ({type(error).__name__})"
    except ValueError as error:  # pooch's for a wrong hash, or _transfer's
        return "not the published file" if "hash" in str(error) else str(error)
    except OSError as error:
        raise MinisigError(f"cannot write to {folder}: {error.strerror or error}") from None
    return None


def _transfer(size: int, watch: Watch | None) -> Callable[..., None]:
    """A downloader for pooch that stops when more than `size` bytes come, or when they come too slowly."""

    def transfer(url: str, output_file: str, pooch: Any) -> None:
        import requests

        # The bytes as they are: a server may otherwise unpack a .gz on the way.
        headers, hooks = {"Accept-Encoding": "identity"}, {"response": _leave_redirect}
        asked = requests.get(url, stream=True, timeout=SILENCE, headers=headers, hooks=hooks)
        with asked as response, Path(output_file).open("wb") as file:
            response.raise_for_status()
            done, started = 0, monotonic()
            for piece in _as_they_come(response):
                done += len(piece)
                if done > size:
                    raise ValueError(f"more than the expected {size:,} bytes came")
                if monotonic() - started > SILENCE + done / SLOWEST:
                    raise ValueError(f"slower than {SLOWEST:,} bytes a second")
                file.write(piece)
                if watch:
                    watch(PurePosixPath(url).name, done, size)
        Path(output_file).chmod(0o644)  # pooch's temporary files are for nobody else

    return transfer


def _leave_redirect(response: Any, **options: Any) -> None:
    """Keep requests from reading, into memory, all that comes with a redirect."""
    if response.is_redirect:
        response.close()


def _as_they_come(response: Any) -> Iterator[bytes]:
    """What a server sends, in pieces as small as they arrive: iter_content would wait until each is full."""
    from requests.exceptions import ChunkedEncodingError, ReadTimeout
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    try:
        while piece := response.raw.read1(2**16, decode_content=True):
            yield piece
    except ReadTimeoutError as error:
        raise ReadTimeout(error) from None
    except HTTPError as error:
        raise ChunkedEncodingError(error) from None


def _install(stream: IO[bytes], name: str, file: PublicFile, folder: Path) -> str | None:
    """Put the content of `stream` into `folder` if it is right; what is wrong with it, if not."""
    try:
        content = b"".join(pieces(stream, file.size + 2**20))  # packing may have made it a little larger
    except Exception as error:  # of zipfile, zlib, lzma or the disk
        return f"cannot be read: {error}"
    try:
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
    except OSError as error:
        raise MinisigError(f"cannot write to {folder}: {error.strerror or error}") from None
    return None


def _folder_entries(source: Path, name: str) -> Iterator[tuple[str, IO[bytes]]]:
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


def _archive_entries(source: Path, name: str) -> Iterator[tuple[str, IO[bytes]]]:
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
        first = str(error).partition("\n")[0]
        raise DataError(f"{source}: not a folder, nor a readable .zip or .tar archive ({first})") from None
