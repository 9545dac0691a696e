"""The configuration of a run: what `config.json` holds, checked by its types."""

from typing import Annotated, Literal

import msgspec

Positive = Annotated[int, msgspec.Meta(gt=0)]
Rate = Annotated[float, msgspec.Meta(gt=0)]


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run, wholly: the same configuration on the same machine gives the same bits."""

    experiment: str
    data: "DataConfig"
    network: "NetworkConfig"
    optimizer: "OptimizerConfig"
    batch_size: Positive
    iterations: Positive
    log_every: Positive = 20
    validate_every: Positive = 100
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    backend: str = "numpy"
    dtype: str = "float32"


class DataConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    path: str | None = None  # the user's own file, in place of the source


class NetworkConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hidden: tuple[Positive, ...]
    init: str = "random+ep"
    activation: str = "sigmoid"
    dropout: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0


class OptimizerConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Literal["momentum", "adam"] = "momentum"
    learning_rate: Rate
    momentum: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.9
    schedule: Literal["constant", "linear"] = "constant"
    warmup: Annotated[int, msgspec.Meta(ge=0)] = 0  # iterations
    clip: Rate | None = None  # most norm of all gradients together
