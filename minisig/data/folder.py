"""Where data sets are looked for, and put."""

import os
from pathlib import Path

from minisig.errors import DataError


def homes() -> list[Path]:
    """$MINISIG_DATA, if it is set, and minisig's folder of the user's cache."""
    cached = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 — Path's needs a home
    cache = Path(cached) / "minisig"
    return [Path(os.environ["MINISIG_DATA"]), cache] if os.environ.get("MINISIG_DATA") else [cache]


def find_folder(name: str) -> Path | None:
    """The folder of this data set, in the first home that has one."""
    return next((home / name for home in homes() if (home / name).is_dir()), None)


def data_folder(name: str) -> Path:
    """The same, which must be there."""
    if folder := find_folder(name):
        return folder
    places = " nor ".join(str(home / name) for home in homes())
    raise DataError(
        f"no folder {places}: run 'minisig data fetch {name}', or set MINISIG_DATA to the folder of {name}/"
    )
