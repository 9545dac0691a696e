"""A finished run, brought back from its folder.

Every file is hostile until checked: sizes before reading, the configuration by its types, parameters by name and shape.
"""

from pathlib import Path

import msgspec
from safetensors import SafetensorError
from safetensors.numpy import load

from minisig.data import Dataset
from minisig.data import load as load_data
from minisig.errors import DataError, UsageError
from minisig.network import Network
from minisig.training.config import Config
from minisig.training.run import build_network

MOST_BYTES = {"config.json": 2**20, "best.safetensors": 2**32}


def restore(folder: Path) -> tuple[Config, Dataset, Network]:
    """Configuration, data and the selected network of the run in `folder`."""
    content, parameters = (_read(folder, name) for name in MOST_BYTES)
    try:
        config = msgspec.json.decode(content, type=Config)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"{folder / 'config.json'}: {error}") from None
    data = load_data(config.data, seed=config.seed)
    net = build_network(config, data)
    try:
        net.load(load(parameters))
    except (SafetensorError, UsageError, KeyError, ValueError) as error:
        raise DataError(f"{folder / 'best.safetensors'}: {error}") from None
    for name, w in net.params.items():
        if not net.backend.xp.isfinite(w).all():
            raise DataError(f"{folder / 'best.safetensors'}: {name} has entries that are not finite")
    return config, data, net


def _read(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        if path.stat().st_size > MOST_BYTES[name]:
            raise DataError(f"{path}: larger than any such file should be")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; is {folder} a finished run?") from None
