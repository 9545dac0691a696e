"""The experiments as data: a row each, nothing else to write for a new one.

`paper` holds the results of Sansone & De Natale, mean and standard deviation where they give one; a comparison sets
them beside its own. Where the paper leaves a setting open, the comment says what was chosen.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from minisig.data import Dataset, Text
from minisig.data.config import Augment, DataConfig
from minisig.initializers import INITIALIZERS, starts
from minisig.layers import CELLS
from minisig.plugins import Table
from minisig.settings import checked
from minisig.training.config import Config, NetworkConfig, OptimizerConfig

Settings = Mapping[str, Any]  # by their names in config.json
Figure = tuple[float, float | None]  # mean and standard deviation

PAPER_INITS = ("random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun")


def inits_of(model: str) -> list[str]:
    """The paper's initializations that this model can have."""
    cell = CELLS.get(model)
    return [init for init in PAPER_INITS if cell is None or starts(INITIALIZERS[init], cell)]


@dataclass(frozen=True)
class Experiment:
    config: Config
    metric: str = "test_error"  # what a comparison compares, by its name in summary.json …
    or_metrics: tuple[str, ...] = ()  # … or, where the data have no such, the first of these
    seeds: int = 4
    rows: Mapping[str, Settings] = field(default_factory=dict)  # what it trains beside the initializations
    models: Mapping[str, Settings] = field(default_factory=dict)  # what else another model changes, unless it is given
    paper: Mapping[str, Figure] = field(default_factory=dict)


def _paper(*figures: str, **others: str) -> dict[str, Figure]:
    """Figures such as "1.78±0.06" for the paper's initializations in their order, and for other rows by name."""
    named = dict(zip(PAPER_INITS, figures, strict=bool(figures))) | others
    parts = {name.replace("_", "-"): figure.split("±") for name, figure in named.items()}
    return {name: (float(mean), float(std[0]) if std else None) for name, (mean, *std) in parts.items()}


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
DROPOUT = replace(MNIST, experiment="mnist-shallow-dropout", network=NetworkConfig(hidden=(800,), dropout=0.5))
DEEP = replace(MNIST, experiment="mnist-deep", network=NetworkConfig(hidden=(2500, 2000, 1500, 1000, 500)))
AUGMENTED = replace(DEEP, experiment="mnist-deep-augmented", data=DataConfig(source="mnist", augment=Augment()))

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

# The scaled tanh of LeCun's and Cireşan's networks comes with LeCun's initialization.
SCALED_TANH = {"scaled-tanh": {"network.activation": "scaled-tanh", "network.init": "lecun"}}
LSTM = {"lstm": {"network.model": "lstm"}}
# Gated cells with as many parameters as the RNN.
COPY_GATED = {
    "lstm": {"network.hidden": (52,), "network.init": "glorot"},
    "gru": {"network.hidden": (59,), "network.init": "glorot"},
}
PTB_GATED = {
    "lstm": {"network.hidden": (190,), "network.init": "glorot"},
    "gru": {"network.hidden": (193,), "network.init": "glorot"},
}

TABLE: tuple[Experiment, ...] = (
    # The quick start: eight hidden layers of sigmoids on the embedded data, learned in seconds. Clipping, warm-up and a
    # falling rate hardly touch it; they are for its deeper sisters, whose gradient is much longer, such as --hidden
    # 100x100 --learning-rate 0.01.
    Experiment(
        Config(
            experiment="digits",
            data=DataConfig(source="digits"),
            network=NetworkConfig(hidden=(100,) * 8),
            optimizer=OptimizerConfig(learning_rate=0.02, schedule="linear", warmup=500, clip=2.0),
            batch_size=50,
            iterations=3000,
        )
    ),
    # Paper, section VI.A: two hidden units, the whole training set at once.
    Experiment(
        Config(
            experiment="xor",
            data=DataConfig(source="xor"),
            network=NetworkConfig(hidden=(2,)),
            optimizer=OptimizerConfig(learning_rate=0.05),
            batch_size=200,
            iterations=1000,
        ),
        seeds=10,
        paper=_paper(ortho="25"),
    ),
    # Paper, sections VI.B and VI.C: 900,000 iterations of momentum at 0.001.
    Experiment(
        MNIST,
        rows=SCALED_TANH,
        paper=_paper("1.78±0.06", "1.89±0.02", "1.87±0.01", "1.86±0.02", "1.86±0.04", "1.91±0.03"),
    ),
    Experiment(
        DROPOUT,
        rows=SCALED_TANH,
        paper=_paper("1.59±0.03", "1.61±0.03", "1.61±0.03", "1.62±0.04", "1.63±0.02", "1.65±0.03", scaled_tanh="1.60"),
    ),
    Experiment(
        DEEP,
        rows=SCALED_TANH,
        paper=_paper("1.92±0.08", "1.85±0.07", "2.07±0.07", "3.32±0.11", "2.94±0.08", "3.11±0.14"),
    ),
    Experiment(
        AUGMENTED,
        rows=SCALED_TANH,
        paper=_paper("0.68", "0.81", "0.79", "0.80", "0.82", "0.80", scaled_tanh="0.62"),
    ),
    # Paper, section VI.D. The warm-up is not in the paper: full-size first steps of Adam destroy the memory that EP
    # gives the untrained network.
    Experiment(
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
        metric="test_perplexity",
        rows=LSTM,
        models=COPY_GATED,
    ),
    # Paper, section VI.E: 20 streams of 35 steps and clipping at 5, which the paper leaves open, are the custom.
    Experiment(
        PTB,
        metric="test_perplexity",
        rows=LSTM,
        models=PTB_GATED,
        paper=_paper("164.0±0.5", "135.5±0.3", "135.9±0.1", "156.1±0.5", "155.1±0.9", "143.1±0.8", lstm="128.3±0.5"),
    ),
    Experiment(
        replace(PTB, experiment="ptb-dropout", network=NetworkConfig(model="rnn", hidden=(200,), dropout=0.5)),
        metric="test_perplexity",
        rows=LSTM,
        models=PTB_GATED,
        paper=_paper("130.1±0.4", "139.3±0.3", "139.8±0.4", "161.2±0.3", "159.2±0.4", "147.8±0.6", lstm="128.7±0.4"),
    ),
)

# The user's own table, in whose place its file is named: what suits it is found out from the data, see `suited_to`.
OWN_TABLE = "table"
TABLE += (
    Experiment(
        Config(
            experiment=OWN_TABLE,
            data=DataConfig(source="table"),
            network=NetworkConfig(hidden=(50, 50)),
            optimizer=checked(
                {"name": "adamw", "weight_decay": 0.1, "learning_rate": 0.01, "schedule": "linear", "clip": 2.0},
                OptimizerConfig,
            ),
            batch_size=32,
            iterations=2000,
        ),
        or_metrics=("test_rmse",),
    ),
)


# A text of the user's own, or the tales in the package. Rates and dropout were chosen by the validation part of the
# tales, with another seed than those of the results: python -m benchmarks.writing search.
OWN_TEXT = "text"
TOKENS = 8_000_000  # shown, of a text that is neither small nor large
TEXT_GATED = {"network.init": "glorot", "network.hidden": (192,), "network.dropout": 0.2, "iterations": 1800}
TABLE += (
    Experiment(
        Config(
            experiment=OWN_TEXT,
            data=checked({"source": "text", "steps": 64}, DataConfig),
            network=NetworkConfig(model="rnn", hidden=(256,), init="ortho+ep"),
            optimizer=OptimizerConfig(name="adam", learning_rate=0.02, schedule="linear", warmup=100, clip=1.0),
            batch_size=32,
            iterations=3000,
            log_every=20,
            validate_every=250,
        ),
        metric="test_perplexity",
        models={"lstm": TEXT_GATED, "gru": TEXT_GATED | {"optimizer.learning_rate": 0.01}},
    ),
)


OWN = {"table": OWN_TABLE, "text": OWN_TEXT}  # by the source that reads the user's own data
EPOCHS = 200  # of a table that is neither small nor large …
EXAMPLES = (20_000, 2_000_000)  # … but so many examples shown at least, and at most


def suited_to(data: Dataset) -> Settings:
    """Settings for the user's own data of this size."""
    return _suited_to_text(data) if isinstance(data.train, Text) else _suited_to_table(data)


def _suited_to_table(data: Dataset) -> Settings:
    """Batch, length, patience and weight decay, as benchmarks.tables --settings found them."""
    N = len(data.train.x)
    batch = 16 if N < 500 else 32 if N < 5_000 else 64 if N < 50_000 else 256
    per_epoch = max(1, N // batch)
    iterations = max(EXAMPLES[0] // batch, min(EXAMPLES[1] // batch, EPOCHS * per_epoch))
    validate = max(per_epoch, 20)
    return {
        "batch_size": batch,
        "iterations": iterations,
        "validate_every": validate,
        "log_every": max(1, min(validate, iterations // 200)),
        "patience": max(iterations // 2, 5 * validate),
        **({"optimizer.weight_decay": 0.01} if N >= 5_000 else {}),  # a tenth of what suits a small one
    }


def _suited_to_text(data: Dataset) -> Settings:
    """Windows and streams that a short text can fill, and so many passes that a small network has seen enough."""
    N = len(data.train.tokens) - 1
    batch = max(1, min(32, N // 256))
    steps = max(1, min(64, N // (4 * batch)))
    passes = max(1, min(40, TOKENS // N))
    iterations = max(200, min(4000, passes * N // (batch * steps)))
    validate = max(20, iterations // 12)
    found = {"batch_size": batch, "data.steps": steps, "iterations": iterations, "validate_every": validate}
    return found if data.of_loss else found | {"optimizer.learning_rate": 0.002}  # of words, which are rare


# The same networks in minutes, NAME-fast: learning rate, falling to 0 after a warm-up, examples in a batch, iterations.
# Rates, and the batch of distorted images, were chosen by the error on validation images with another seed than those
# of the results. Once they are chosen nothing need be held out.
FAST = {
    "mnist-shallow": (0.05, 0, 50, 40_000),
    "mnist-shallow-dropout": (0.05, 0, 50, 80_000),
    "mnist-deep": (0.05, 300, 50, 12_000),
    "mnist-deep-augmented": (0.1, 300, 100, 60_000),
}


def _fast(experiment: Experiment, rate: float, warmup: int, batch_size: int, iterations: int) -> Experiment:
    config = experiment.config
    return dataclasses.replace(
        experiment,
        config=replace(
            config,
            experiment=f"{config.experiment}-fast",
            optimizer=replace(config.optimizer, learning_rate=rate, schedule="linear", warmup=warmup),
            batch_size=batch_size,
            iterations=iterations,
            data=replace(config.data, hold_out=False),
        ),
    )


BY_NAME = {row.config.experiment: row for row in TABLE}
BY_NAME |= {f"{name}-fast": _fast(BY_NAME[name], *settings) for name, settings in FAST.items()}
EXPERIMENTS: Table[Experiment] = Table("experiments", BY_NAME, Experiment)
