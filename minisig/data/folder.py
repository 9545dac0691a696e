"""Where data sets are looked for."""

import os
from pathlib import Path

from minisig.errors import DataError


def data_folder(name: str, files: str) -> Path:
    """$MINISIG_DATA/name, else that in minisig's folder of the user's cache; it must be there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("MINISIG_DATA") or cache / "minisig") / name
    if not folder.is_dir():
        raise DataError(
            f"{folder} is not there: put {files} into it, or set MINISIG_DATA to the folder that holds {name}/"
        )
    return folder
