"""One file from a server nobody vouches for: by pooch, which checks hashes, tries again and renames.

A server may answer nonsense, stop in the middle, send for ever or too slowly: each is a sentence, not an exception.
"""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any

from minisig.data.public import PublicFile
from minisig.errors import MinisigError, writing

Watch = Callable[[str, int, int], None]  # name of the file, bytes that are there, bytes to come in all

RETRIES = 2  # of every mirror
SILENCE = 30.0  # seconds a server may take for its next word
SLOWEST = 4096  # bytes a second, on the whole
LARGEST_ARCHIVE = 2**28  # bytes, packed


def download_file(file: PublicFile, mirror: str, folder: Path, watch: Watch | None) -> str | None:
    """Get one file by pooch, which checks the hash, tries again and renames; what went wrong in the end, if at all."""
    pooch = _pooch()
    store = pooch.create(
        path=folder.absolute(),  # or pooch takes ~ for the home folder
        base_url=mirror if mirror.endswith("/") else f"{mirror}/",
        registry={file.download: f"sha256:{file.download_sha256}"},
        retry_if_failed=RETRIES,
    )
    return _attempt(lambda: store.fetch(file.download, downloader=_transfer(file.download_size, watch)), folder)


def download_archive(url: str, path: Path, watch: Watch | None) -> str | None:
    """Get an archive, whose hash nobody published, to `path`; what went wrong, if anything."""
    transfer = _transfer(LARGEST_ARCHIVE, watch)
    return _attempt(lambda: _pooch().retrieve(url, None, path.name, path.parent, downloader=transfer), path.parent)


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise MinisigError("downloading needs pooch: pip install 'minisig[data]', or use --from PATH") from None
    pooch.get_logger().setLevel("ERROR")
    return pooch


def _attempt(download: Callable[[], Any], folder: Path) -> str | None:
    from requests.exceptions import HTTPError, RequestException, Timeout

    with writing(folder):
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
