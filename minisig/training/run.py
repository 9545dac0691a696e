"""A run: data, network and training from one configuration."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from minisig.backends import get_backend
from minisig.data import Dataset, Split, load
from minisig.errors import UsageError
from minisig.initializers import RecurrentOptions
from minisig.network import Network, mlp, recurrent
from minisig.seeds import stream
from minisig.training.config import Config
from minisig.training.evaluate import Score, evaluate
from minisig.training.folder import RunFolder
from minisig.training.loop import Record, Training

Summary = dict[str, Any]

TRAIN_LOSS_ROWS = 10_000  # as many training rows or tokens as the summary's train_loss is taken from


def build_network(config: Config, data: Dataset) -> Network:
    """The network of a configuration, initialized for these data."""
    wanted, rng = config.network, stream(config.seed, "weights")
    backend = get_backend(config.backend, config.dtype)
    vectors = isinstance(data.train, Split)
    if vectors != (wanted.model == "mlp"):
        models = "mlp" if vectors else "rnn or lstm"
        kind = "vectors" if vectors else "sequences"
        raise UsageError(f"the data of {data.name} are {kind}: the model must be {models}, got {wanted.model}")
    if wanted.model == "mlp":
        return mlp(
            [data.train.x.shape[1], *wanted.hidden, data.classes],
            init=wanted.init,
            rng=rng,
            x=data.train.x,
            activation=wanted.activation,
            dropout=wanted.dropout,
            backend=backend,
        )
    return recurrent(
        data.classes,
        wanted.hidden,
        model=wanted.model,
        init=wanted.init,
        rng=rng,
        tokens=data.train.batches(config.batch_size, config.seed).at(1).x,
        frequencies=np.bincount(data.train.tokens.reshape(-1), minlength=data.classes),
        dropout=wanted.dropout,
        options=RecurrentOptions(wanted.ep_mode, wanted.radius, wanted.input_rms, wanted.forget_bias),
        backend=backend,
    )


def run(
    config: Config, folder: RunFolder | Path | None = None, watch: Callable[[Record], None] | None = None
) -> Summary:
    """Train as configured, select by validation loss, test once, and return the summary.

    Everything is written to `folder`, which must not hold a run yet; without one nothing is written, and nothing ever
    is before data and network are ready. `watch` is shown every record.
    """
    if config.threads is None:
        return _run(config, folder, watch)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(config.threads, user_api="blas"):
        return _run(config, folder, watch)


def _run(config: Config, folder: RunFolder | Path | None, watch: Callable[[Record], None] | None) -> Summary:
    data = load(config.data, seed=config.seed)
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
    summary = {
        "experiment": config.experiment,
        "model": config.network.model,
        "init": config.network.init,
        "seed": config.seed,
        "backend": config.backend,
        "dtype": config.dtype,
        "iterations": config.iterations,
        "parameters": sum(w.size for w in net.params.values()),
        "seconds": round(seconds, 3),
        "best_iteration": training.best_iteration,
        "train_loss": evaluate(net, data.train.head(TRAIN_LOSS_ROWS)).loss,
        **_scores("valid", training.best_score, data),
        **_scores("test", evaluate(net, data.test), data),
        "baselines": data.baselines or {},
        "layers": [
            {"name": name, "gradient_norm_first": norm, "gradient_norm_last": last["gradient_norm"][name]}
            for name, norm in first["gradient_norm"].items()
        ],
    }
    if folder:
        folder.finish({name: net.backend.to_host(w) for name, w in training.best.items()}, summary)
    return summary


def _scores(part: str, score: Score, data: Dataset) -> Summary:
    """Loss and error of a classifier; loss, perplexity and recall of a sequence model."""
    if isinstance(data.train, Split):
        return {f"{part}_loss": score.loss, f"{part}_error": score.error}
    recall = {} if score.recall is None else {f"{part}_recall": score.recall}
    return {f"{part}_loss": score.loss, f"{part}_perplexity": score.perplexity, **recall}
