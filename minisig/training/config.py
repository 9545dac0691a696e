"""The configuration of a run: what `config.json` holds, checked by its types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from minisig.data.config import DataConfig, checked

Count = Annotated[int, msgspec.Meta(gt=0, le=10**9)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Length = Annotated[float, msgspec.Meta(ge=1e-6, le=1e6)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class NetworkConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: str = "mlp"  # or rnn, lstm, or one of build.MODELS
    hidden: tuple[Count, ...]
    init: str = "random+ep"
    activation: str = "sigmoid"  # of an mlp
    dropout: Share = 0.0
    ep_mode: Literal["recurrent", "joint"] = "recurrent"  # of an rnn under EP, as are the next two
    radius: Length | None = None  # norm of the recurrent weights of a neuron; None for EP's own
    input_rms: Length = 0.1  # of the inputs' part of the logits
    forget_bias: Annotated[float, msgspec.Meta(ge=-1e3, le=1e3)] = 1.0  # of an lstm


class OptimizerConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Literal["momentum", "adam"] = "momentum"
    learning_rate: Positive
    momentum: Share = 0.9
    schedule: Literal["constant", "linear"] = "constant"
    warmup: Annotated[int, msgspec.Meta(ge=0)] = 0  # iterations
    clip: Positive | None = None  # most norm of all gradients together


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run, wholly: the same configuration on the same machine gives the same bits."""

    experiment: str
    data: DataConfig
    network: NetworkConfig
    optimizer: OptimizerConfig
    batch_size: Count
    iterations: Count
    select_by: Literal["loss", "error"] = "loss"  # of the validation part: what the best parameters are best in
    log_every: Count = 20
    validate_every: Count = 100
    checkpoint_every: Count = 1000
    statistics_every: Count | None = None  # entropy, saturation and more of every layer, see diagnostics.activations
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    threads: Count | None = None  # of BLAS, on which the last bits of a product depend; None for all there are
    backend: str = "numpy"
    memory: Positive | None = None  # gigabytes of the device that cupy may take; None for all
    dtype: str = "float32"


def checked_config(fields: Mapping[str, Any] | Config) -> Config:
    """A configuration of these fields; what is wrong with one is said with its name and what came."""
    config = checked(fields, Config)
    if config.data.path:  # a run must find its data wherever it is resumed
        config = replace(config, data=replace(config.data, path=str(Path(config.data.path).absolute())))
    return config


# Made at import, under its lock: msgspec prepares a type when it is first used, and two threads that do so at once,
# such as those of a Dask worker, crash the process.
decode_config = msgspec.json.Decoder(Config).decode
