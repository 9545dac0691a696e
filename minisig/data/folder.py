"""Where data sets are looked for, and put."""

import os
from pathlib import Path

from minisig.data.public import PublicSet
from minisig.data.raw import find
from minisig.errors import DataError


def homes() -> list[Path]:
    """$MINISIG_DATA, if it is set, and minisig's folder of the user's cache."""
    cached = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 — Path's needs a home
    cache = Path(cached) / "minisig"
    return [Path(os.environ["MINISIG_DATA"]), cache] if os.environ.get("MINISIG_DATA") else [cache]


def find_folder(public: PublicSet) -> Path | None:
    """The folder of this data set, in the first home that has any of its files: an empty one hides no other."""
    folders = (home / public.name for home in homes())
    return next((folder for folder in folders if len(_missing(public, folder)) < len(public.files)), None)


def complete_folder(public: PublicSet) -> Path | None:
    """The same, if none of its files is missing."""
    folder = find_folder(public)
    return folder if folder and not _missing(public, folder) else None


def data_folder(public: PublicSet) -> Path:
    """The same, which must be there."""
    name, folder = public.name, find_folder(public)
    if folder is None:
        places = " or ".join(str(home / name) for home in homes())
        raise DataError(
            f"no files of {name} in {places}: run 'minisig data fetch {name}', or set MINISIG_DATA to the folder of "
            f"{name}/"
        )
    if missing := _missing(public, folder):
        raise DataError(f"{folder}: holds no {missing[0]}, gzipped or not: run 'minisig data fetch {name}'")
    return folder


def _missing(public: PublicSet, folder: Path) -> list[str]:
    """The files that the loaders would not find there; train.txt will do for ptb.train.txt."""
    names = [file.name for file in public.files]
    return [name for name in names if not find(folder, name, name.removeprefix(f"{public.name}."))]
