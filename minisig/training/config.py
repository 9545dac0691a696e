"""The configuration of a run: what `config.json` holds, checked by its types."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from minisig.backends import BACKENDS, DTYPES
from minisig.data import SOURCES, DataConfig, source_for
from minisig.errors import require_known
from minisig.initializers import INITIALIZERS
from minisig.losses import LOSSES
from minisig.models import MODELS
from minisig.optimizers import OPTIMIZERS
from minisig.schedules import SCHEDULES
from minisig.settings import Part, Parts, Settings, checked, fields_of, kind_of

Count = Annotated[int, msgspec.Meta(gt=0, le=10**9)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class NetworkConfig(Settings, frozen=True, kw_only=True):
    """Beside these the settings of the model, the initializer and the loss."""

    parts: ClassVar[Parts] = {"model": Part(MODELS), "init": Part(INITIALIZERS, ""), "loss": Part(LOSSES)}

    model: str = "mlp"
    hidden: tuple[Count, ...]
    init: str = "random+ep"
    dropout: Share = 0.0
    loss: str | None = None  # None for the one that the data ask for


class OptimizerConfig(Settings, frozen=True, kw_only=True):
    """Beside these the settings of the optimizer, such as momentum, and of the schedule."""

    parts: ClassVar[Parts] = {"name": Part(OPTIMIZERS), "schedule": Part(SCHEDULES)}

    name: str = "momentum"
    learning_rate: Positive
    schedule: str = "constant"
    warmup: Annotated[int, msgspec.Meta(ge=0)] = 0  # iterations over which the rate rises from 0
    clip: Positive | None = None  # most norm of all gradients together
    rates: dict[str, Annotated[float, msgspec.Meta(ge=0)]] = msgspec.field(
        default_factory=dict
    )  # times the rate, by a parameter's name or pattern


class Config(Settings, frozen=True, kw_only=True):
    """One run, wholly: the same configuration on the same machine gives the same bits."""

    parts: ClassVar[Parts] = {"backend": Part(BACKENDS)}

    experiment: str
    data: DataConfig
    network: NetworkConfig
    optimizer: OptimizerConfig
    batch_size: Count
    iterations: Count
    select_by: str = "loss"  # a metric of the validation part: what the best parameters are best in
    log_every: Count = 20
    validate_every: Count = 100
    checkpoint_every: Count = 1000
    patience: Count | None = None  # iterations without a better validation after which training ends; None for never
    statistics_every: Count | None = None  # entropy, saturation and more of every layer, see diagnostics.activations
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    threads: Count | None = None  # of BLAS, on which the last bits of a product depend; None for all there are
    backend: str = "numpy"
    memory: Positive | None = None  # gigabytes of the device that cupy may take; None for all
    dtype: str = "float32"


def checked_config(fields: Mapping[str, Any] | Config) -> Config:
    """A configuration of these fields; what is wrong with one is said with its name and what came."""
    config = checked(fields, Config)
    require_known("dtype", config.dtype, DTYPES)
    losses = [LOSSES[config.network.loss]] if config.network.loss else LOSSES.rows.values()
    metrics = dict.fromkeys(name for loss in losses for name in getattr(loss, "metric_names", ()))
    require_known("select_by", config.select_by, ["loss", *metrics])
    if config.data.path:  # a run must find its data wherever it is resumed
        own: dict[str, Any] = {"path": str(Path(config.data.path).absolute())}
        if more := getattr(config.data, "more", ()):
            own["more"] = tuple(str(Path(name).absolute()) for name in more)
        config = replace(config, data=replace(config.data, **own))
    return config


# What every configuration of format 1 held, whether its parts had a use for it or not.
FORMAT_1: dict[str, dict[str, Any]] = {
    "data": {"delay": 100, "steps": 35, "vocabulary": 10_000},
    "network": {"activation": "sigmoid", "ep_mode": "recurrent", "radius": None, "input_rms": 0.1, "forget_bias": 1.0},
    "optimizer": {"momentum": 0.9},
}
# What an rnn could be told under any initialization, though only EP listened.
OF_EP_1 = ("ep_mode", "radius", "input_rms")
_fields = msgspec.json.Decoder(dict[str, Any])


def decode_config(content: bytes, beside: Collection[str] = ()) -> Config:
    """The configuration in a config.json, of format 1 or of today's; `beside` are fields that are not settings."""
    fields = _fields.decode(content)
    if "format" in beside and fields.get("format", 1) == 1:
        fields = _from_format_1(fields)
    return checked_config({name: value for name, value in fields.items() if name not in beside})


def _from_format_1(fields: dict[str, Any]) -> dict[str, Any]:
    """Without the settings that were there for other parts, and with the source that a path stood for."""
    found = dict(fields)
    match fields.get("data"):
        case {"path": str(path), "source": str(source)} if source in SOURCES.rows:
            today = source_for(path, source)
            found["data"] = fields["data"] | {
                "source": "file" if today == "table" else today
            }  # which read it otherwise
    for group, kind in (("data", DataConfig), ("network", NetworkConfig), ("optimizer", OptimizerConfig)):
        if isinstance(own := found.get(group), dict):
            used, old = fields_of(kind_of(kind, own, f"{group}.")), FORMAT_1[group]
            idle = OF_EP_1 if group == "network" and own.get("model") == "rnn" else ()
            found[group] = {
                name: value
                for name, value in own.items()
                if name in used or (name not in idle and old.get(name, ...) != value)
            }
    return found
