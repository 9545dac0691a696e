"""A run: data, network and training from one configuration."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from minisig.backends import get_backend
from minisig.data import Dataset, Split, load
from minisig.network import Network, mlp
from minisig.seeds import stream
from minisig.training.config import Config
from minisig.training.evaluate import evaluate
from minisig.training.folder import RunFolder
from minisig.training.loop import Record, Training

Summary = dict[str, Any]

TRAIN_LOSS_ROWS = 10_000  # as many training rows as the summary's train_loss is taken from


def build_network(config: Config, data: Dataset) -> Network:
    """The network of a configuration, initialized for these data."""
    sizes = [data.train.x.shape[1], *config.network.hidden, data.classes]
    return mlp(
        sizes,
        init=config.network.init,
        rng=stream(config.seed, "weights"),
        x=data.train.x,
        activation=config.network.activation,
        dropout=config.network.dropout,
        backend=get_backend(config.backend, config.dtype),
    )


def run(
    config: Config, folder: RunFolder | Path | None = None, watch: Callable[[Record], None] | None = None
) -> Summary:
    """Train as configured, select by validation loss, test once, and return the summary.

    Everything is written to `folder`, which must not hold a run yet; without one nothing is written, and nothing ever
    is before data and network are ready. `watch` is shown every record.
    """
    data = load(config.data.source, path=config.data.path, seed=config.seed)
    net = build_network(config, data)
    training = Training(net, data, config)
    if isinstance(folder, Path):
        folder = RunFolder(folder)
    if folder:
        folder.claim(msgspec.json.format(msgspec.json.encode(config)))
    first: Record = {}
    last: Record = {}
    started = perf_counter()
    for record in training:
        first, last = first or record, record
        if folder:
            folder.log(record)
        if watch:
            watch(record)
    seconds = perf_counter() - started

    net.load(training.best)
    test = evaluate(net, data.test)
    some = Split(data.train.x[:TRAIN_LOSS_ROWS], data.train.y[:TRAIN_LOSS_ROWS])
    summary = {
        "experiment": config.experiment,
        "init": config.network.init,
        "seed": config.seed,
        "backend": config.backend,
        "dtype": config.dtype,
        "iterations": config.iterations,
        "parameters": sum(w.size for w in net.params.values()),
        "seconds": round(seconds, 3),
        "best_iteration": training.best_iteration,
        "train_loss": evaluate(net, some).loss,
        "valid_loss": training.best_score.loss,
        "valid_error": training.best_score.error,
        "test_loss": test.loss,
        "test_error": test.error,
        "layers": [
            {"name": name, "gradient_norm_first": norm, "gradient_norm_last": last["gradient_norm"][name]}
            for name, norm in first["gradient_norm"].items()
        ],
    }
    if folder:
        folder.finish({name: net.backend.to_host(w) for name, w in training.best.items()}, summary)
    return summary
