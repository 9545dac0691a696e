"""The experiments as data: a row each, nothing else to write for a new one."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec
from msgspec.structs import replace

from minisig.data.config import Augment
from minisig.errors import UsageError, require_known
from minisig.initializers import INITIALIZERS
from minisig.layers import ACTIVATIONS
from minisig.training.config import Config, DataConfig, NetworkConfig, OptimizerConfig

MNIST = Config(
    experiment="mnist-shallow",
    data=DataConfig(source="mnist"),
    network=NetworkConfig(hidden=(800,)),
    optimizer=OptimizerConfig(learning_rate=0.001),
    batch_size=50,
    iterations=900_000,
    log_every=100,
    validate_every=1000,
)
MNIST_DEEP = replace(MNIST, experiment="mnist-deep", network=NetworkConfig(hidden=(2500, 2000, 1500, 1000, 500)))

PTB = Config(
    experiment="ptb",
    data=DataConfig(source="ptb"),
    network=NetworkConfig(model="rnn", hidden=(200,)),
    optimizer=OptimizerConfig(name="adam", learning_rate=0.0001, clip=5.0),
    batch_size=20,
    iterations=500_000,
    log_every=50,
    validate_every=1000,
)

EXPERIMENTS: dict[str, Config] = {
    config.experiment: config
    for config in (
        # The quick start: eight hidden layers of sigmoids on the embedded data, learned in seconds. Clipping and
        # warm-up hardly touch it; they are for its deeper sisters, --hidden 100x100, whose gradient is much longer.
        Config(
            experiment="digits",
            data=DataConfig(source="digits"),
            network=NetworkConfig(hidden=(100,) * 8),
            optimizer=OptimizerConfig(learning_rate=0.01, warmup=500, clip=2.0),
            batch_size=50,
            iterations=3000,
        ),
        # Paper, section VI.A: two hidden units, the whole training set at once.
        Config(
            experiment="xor",
            data=DataConfig(source="xor"),
            network=NetworkConfig(hidden=(2,)),
            optimizer=OptimizerConfig(learning_rate=0.05),
            batch_size=200,
            iterations=1000,
        ),
        # Paper, sections VI.B and VI.C: 900,000 iterations of momentum at 0.001.
        MNIST,
        replace(MNIST, experiment="mnist-shallow-dropout", network=NetworkConfig(hidden=(800,), dropout=0.5)),
        MNIST_DEEP,
        replace(MNIST_DEEP, experiment="mnist-deep-augmented", data=DataConfig(source="mnist", augment=Augment())),
        # Paper, section VI.D. The warm-up is not in the paper: full-size first steps of Adam destroy the memory that EP
        # gives the untrained network.
        Config(
            experiment="copy-memory",
            data=DataConfig(source="copy-memory"),
            network=NetworkConfig(model="rnn", hidden=(100,)),
            optimizer=OptimizerConfig(name="adam", learning_rate=0.001, warmup=1000, clip=1.0),
            batch_size=20,
            iterations=6000,
            log_every=50,
            validate_every=500,
        ),
        # Paper, section VI.E: 20 streams of 35 steps and clipping at 5, which the paper leaves open, are the custom.
        PTB,
        replace(PTB, experiment="ptb-dropout", network=NetworkConfig(model="rnn", hidden=(200,), dropout=0.5)),
    )
}

PAPER_INITS = ("random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun")

# What else another model changes, unless it is given: the paper's LSTMs have as many parameters as its RNNs.
LSTM = {
    "copy-memory": {"network.hidden": (52,), "network.init": "glorot"},
    "ptb": {"network.hidden": (190,), "network.init": "glorot"},
    "ptb-dropout": {"network.hidden": (190,), "network.init": "glorot"},
}


def configure(experiment: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """The experiment's configuration with some fields replaced, named as in config.json.

    >>> configure("digits", {"network.hidden": [30, 30], "optimizer.learning_rate": 0.02}).network.hidden
    (30, 30)
    """
    require_known("experiment", experiment, EXPERIMENTS)
    overrides = dict(overrides or {})
    model = overrides.get("network.model")
    if model is not None:
        require_known("model", str(model), ("mlp", "rnn", "lstm"))
    if model == "lstm":
        overrides = LSTM.get(experiment, {}) | overrides
    fields = msgspec.to_builtins(EXPERIMENTS[experiment])
    for name, value in overrides.items():
        if name == "experiment":
            raise UsageError("the experiment is named first on the command line, it is not a setting")
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{name}: expected a finite number, got {value}")
        *path, last = name.split(".")
        inner = fields
        for step in path:
            inner = inner.get(step)
            if not isinstance(inner, dict):
                raise UsageError(f"unknown setting '{name}': '{step}' is not a group of settings")
        inner[last] = value
    try:
        config = msgspec.convert(fields, Config)
    except msgspec.ValidationError as error:
        raise UsageError(f"wrong setting: {error}") from None
    require_known("init", config.network.init, INITIALIZERS)
    require_known("activation", config.network.activation, ACTIVATIONS)
    return config
