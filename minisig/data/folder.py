"""Where data sets are looked for."""

import os
from pathlib import Path

from minisig.errors import DataError


def data_folder(name: str, files: str) -> Path:
    """$MINISIG_DATA/name, or that in minisig's folder of the user's cache, whichever is there first."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minisig"
    homes = [Path(os.environ["MINISIG_DATA"]), cache] if os.environ.get("MINISIG_DATA") else [cache]
    for home in homes:
        if (home / name).is_dir():
            return home / name
    places = " nor ".join(str(home / name) for home in homes)
    raise DataError(f"no folder {places}: put {files} there, or set MINISIG_DATA to the folder that holds {name}/")
