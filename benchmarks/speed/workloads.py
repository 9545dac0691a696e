"""What is timed: training steps of the paper's networks, each with its own batch, optimizer and clipping.

Images and text are made up, of the right shapes and as unevenly frequent as words are, so nothing must be downloaded.
Batches lie ready in a ring that every peer goes round.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from minisig.data import Batch, Dataset, Sequences, Split, Text, load
from minisig.experiments import configure
from minisig.models import build_network
from minisig.network import Network
from minisig.seeds import stream
from minisig.training.config import Config

RING = 8  # batches

OURS, TORCH, COMPILED = "minisig", "PyTorch", "PyTorch compiled"
CELLS, TANH = "PyTorch cells", "PyTorch tanh RNN"
JAX, SKLEARN, SCIPY = "JAX", "scikit-learn", "scipy.ndimage"
GEMMS, TORCH_GEMMS = "GEMMs alone", "PyTorch's GEMMs"
ONE_THREAD = "minisig, one thread"

# No logging, no validation, and a rate that hardly changes: the bare steps.
BARE = {
    "iterations": 10**9,
    "log_every": 10**9,
    "validate_every": 10**9,
    "optimizer.warmup": 0,
}


class Step(NamedTuple):
    """One peer's training step."""

    run: Callable[[], Any]  # returns the loss if it has it at hand
    params: Callable[[], dict[str, Any]]  # by our names and in our layout, as they are now
    wait: Callable[[], Any] = lambda: None  # until all that was begun is done
    around: Callable[[], AbstractContextManager[Any]] = nullcontext  # every slice of steps


@dataclass(frozen=True)
class Workload:
    config: Config
    peers: tuple[str, ...]
    targets: Mapping[str, float] = field(default_factory=dict)  # least ratio of a peer's time to ours, one thread
    makers: Mapping[str, str] | None = None  # of its steps, where they are others than the peers' own


@dataclass
class Case:
    """A workload ready to run."""

    config: Config
    data: Dataset
    net: Network
    batches: list[Batch]


def _bare(experiment: str, **settings: Any) -> Config:
    return configure(experiment, BARE | {name.replace("__", "."): value for name, value in settings.items()})


# Where a peer's steps are made: module and function.
MAKERS = {
    OURS: "ours:step_of",
    ONE_THREAD: "ours:one_thread_step_of",
    TORCH: "pytorch:step_of",
    COMPILED: "pytorch:compiled_step_of",
    CELLS: "pytorch:cells_step_of",
    TANH: "pytorch:tanh_step_of",
    JAX: "jaxlib:step_of",
    SKLEARN: "sklearn:step_of",
    GEMMS: "gemms:step_of",
    TORCH_GEMMS: "gemms:pytorch_step_of",
}
DISTORTIONS = {
    OURS: "distortions:ours",
    ONE_THREAD: "distortions:ours_with_one_thread",
    TORCH: "distortions:pytorch",
    SCIPY: "distortions:one_by_one",
}

RECURRENT = (TORCH, CELLS, TANH, JAX, GEMMS, TORCH_GEMMS)

WORKLOADS = {
    "mlp-shallow": Workload(
        _bare("mnist-shallow"),
        (TORCH, COMPILED, JAX, SKLEARN, GEMMS, TORCH_GEMMS),
        {TORCH: 1.10, GEMMS: 0.80, SKLEARN: 1.5},
    ),
    "mlp-deep": Workload(
        _bare("mnist-deep"),
        (TORCH, COMPILED, JAX, SKLEARN, GEMMS, TORCH_GEMMS),
        {TORCH: 1.10, GEMMS: 0.85},
    ),
    "copy-rnn-20": Workload(_bare("copy-memory"), RECURRENT, {CELLS: 3.0, TANH: 1.5, JAX: 1.0}),
    "copy-rnn-100": Workload(_bare("copy-memory", batch_size=100), RECURRENT, {CELLS: 2.2, JAX: 1.2}),
    "copy-lstm": Workload(_bare("copy-memory", network__model="lstm"), (TORCH, JAX, GEMMS, TORCH_GEMMS), {TORCH: 1.2}),
    "ptb-rnn": Workload(_bare("ptb"), RECURRENT, {CELLS: 1.3, TANH: 1.15, GEMMS: 0.72}),
    "text-lstm": Workload(
        _bare("text", network__model="lstm", network__dropout=0.0),  # as the peers' masks would be others
        (TORCH, JAX, GEMMS, TORCH_GEMMS),
    ),
    "digits": Workload(_bare("digits"), (TORCH, COMPILED, JAX, GEMMS, TORCH_GEMMS)),
    "augment": Workload(_bare("mnist-deep-augmented"), (TORCH, SCIPY), makers=DISTORTIONS),
}


def build(config: Config) -> Case:
    data = _dataset(config)
    batches = data.train.batches(config.batch_size, config.seed)
    return Case(config, data, build_network(config, data), [batches.at(i) for i in range(1, RING + 1)])


def maker(workload: Workload, peer: str) -> Callable[[Case], Step]:
    """What makes the peer's step; an ImportError if it is not installed."""
    module, _, function = (workload.makers or MAKERS)[peer].partition(":")
    found: Callable[[Case], Step] = getattr(import_module(f"benchmarks.speed.{module}"), function)
    return found


def _dataset(config: Config) -> Dataset:
    """The data set of this configuration where it comes with minisig, else one of the same shapes."""
    rng, size = stream(0, "benchmarks"), config.batch_size
    if config.data.source == "mnist":
        x = rng.uniform(-1, 1, (RING * size, 784)).astype(np.float32)
        split = Split(x, rng.integers(0, 10, len(x)))
        return Dataset("mnist", split, split, split, classes=10, image=(28, 28))
    if config.data.source == "ptb":
        chosen: Any = config.data
        steps, V = chosen.steps, chosen.vocabulary
        frequencies = 1 / np.arange(1, V + 1)  # Zipf's law
        text = Text(rng.choice(V, RING * steps * size + 1, p=frequencies / frequencies.sum()), steps)
        return Dataset("ptb", text, text, text, classes=V)
    data = load(config.data)
    assert isinstance(data.train, Split | Sequences | Text)
    return data
