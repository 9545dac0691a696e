"""A finished run, brought back from its folder."""

from pathlib import Path

from msgspec.structs import replace

from minisig.data import Dataset
from minisig.data import load as load_data
from minisig.errors import DataError, UsageError
from minisig.network import Network
from minisig.training.config import Config
from minisig.training.files import read_config, read_tensors
from minisig.training.run import build_network


def restore(folder: Path, backend: str | None = None) -> tuple[Config, Dataset, Network]:
    """Configuration, data and the selected network of the run in `folder`, on its own backend or another."""
    config = read_config(folder)
    if backend:
        config = replace(config, backend=backend)
    path = folder / "best.safetensors"
    parameters, _ = read_tensors(path)
    data = load_data(config.data, seed=config.seed)
    net = build_network(config, data)
    try:
        net.load(parameters)
    except (UsageError, KeyError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None
    for name, w in net.params.items():
        if not net.backend.xp.isfinite(w).all():
            raise DataError(f"{path}: {name} has entries that are not finite")
    return config, data, net
