"""A finished run, brought back from its folder."""

from pathlib import Path
from warnings import warn

from msgspec.structs import replace

from minisig.data import Dataset
from minisig.data import load as load_data
from minisig.diagnostics.finite import first_not_finite
from minisig.errors import DataChanged, DataError, UsageError
from minisig.models import build_network
from minisig.network import Network
from minisig.training.config import Config
from minisig.training.files import read_config
from minisig.training.model_file import read_model


def restore(folder: Path | str, backend: str | None = None) -> tuple[Config, Dataset, Network]:
    """Configuration, data and the selected network of the run in `folder`, on its own backend or another.

    The data are prepared as they were for training, whatever is in them now; if they have changed, DataChanged warns.
    """
    folder = Path(folder)
    config = read_config(folder)
    if backend:
        config = replace(config, backend=backend)
    path = folder / "best.safetensors"
    if not path.exists():
        raise DataError(
            f"{folder} has no best.safetensors: the run is not finished (go on with: minisig train --resume {folder}), "
            f"or part of a comparison, which keeps no parameters"
        )
    info, parameters = read_model(path)
    data = load_data(config.data, seed=config.seed, prepared=info.prepared if info else None)
    if info and info.content and info.content != data.content:
        warn(f"{config.data.path} has changed since {folder} was trained on it", DataChanged, stacklevel=2)
    net = build_network(config, data)
    try:
        net.load(parameters)
    except UsageError as error:
        raise DataError(f"{path}: {error}") from None
    if where := first_not_finite(net):
        raise DataError(f"{path}: {where} has entries that are not finite")
    return config, data, net
