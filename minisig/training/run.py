"""A run: data, network and training from one configuration."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Any

import msgspec

from minisig.backends import BACKENDS
from minisig.data import Dataset, load
from minisig.errors import Interrupted, UsageError, require_known, writing
from minisig.losses import Score
from minisig.models import build_network
from minisig.schedules import SCHEDULES
from minisig.training.checkpoint import Norms, Position, load_checkpoint, save_checkpoint
from minisig.training.config import Config, checked_config
from minisig.training.evaluate import evaluate
from minisig.training.files import MADE_BY, read_config
from minisig.training.folder import RunFolder
from minisig.training.loop import Training
from minisig.training.model_file import model_info
from minisig.training.observers import Observer, Observers, observing
from minisig.training.quality import quality
from minisig.training.records import Summary

Stop = Callable[[], int | None]  # the number of a signal that asks the run to end

TRAIN_LOSS_ROWS = 10_000  # as many training rows or tokens as the summary's train_loss is taken from


def run(
    config: Config,
    folder: RunFolder | Path | str | None = None,
    observers: Observers = (),
    stop: Stop | None = None,
    *,
    data: Dataset | None = None,
) -> Summary:
    """Train as configured, select by validation, test once, and return the summary.

    Everything is written to `folder`, which must not hold a run yet; without one nothing is written, and nothing ever
    is before data and network are ready. `observers` look on, see observers.py. `stop` is asked after every iteration;
    when it gives the number of a signal, the run is saved and ends with Interrupted. `data` are those of the
    configuration, if they have been loaded already.
    """
    config = checked_config(config)
    with observing(observers) as watching, blas_threads(config.threads):
        training = _prepare(config, data)
        if folder is None:
            return _train(training, None, None, watching, stop)
        folder = RunFolder.at(folder)
        with folder.claim(config):
            return _train(training, folder, None, watching, stop)


def resume(
    folder: RunFolder | Path | str,
    iterations: int | None = None,
    observers: Observers = (),
    stop: Stop | None = None,
    *,
    backend: str | None = None,
) -> Summary:
    """Go on with the run in the folder, to the same bits as if it had never stopped.

    A finished run is left as it is, unless `iterations` asks for more of them; the last one so far stays logged and
    validated. On another `backend` it goes on from the same numbers, to the same ones but for rounding.
    """
    folder = RunFolder.at(folder)
    if backend:
        require_known("backend", backend, BACKENDS)
    config, summary = _wanted(folder, iterations)
    if summary and summary["iterations"] == config.iterations:
        return summary  # nothing is to be done, and nothing touched
    with observing(observers) as watching, folder.reopen():
        config, summary = _wanted(folder, iterations)  # still, now that nobody else can come in
        if backend:
            config = msgspec.structs.replace(config, backend=backend)
        with blas_threads(config.threads):
            training = _prepare(config)
            position = load_checkpoint(folder.path, training)
            if summary and not position:
                raise UsageError(
                    f"{folder.path} is finished and has no checkpoint to go on from, as runs of a comparison have "
                    f"none: start a new run"
                )
            folder.rewind_metrics(position.metrics_bytes if position else 0)
            folder.configure(config)
            return _train(training, folder, position, watching, stop)


def _wanted(folder: RunFolder, iterations: int | None) -> tuple[Config, Summary | None]:
    """What the run in the folder shall be, and what it has come to if it was finished once."""
    config = read_config(folder.path)
    if iterations is not None and iterations != config.iterations:
        config = _extended(config, iterations)
    return config, folder.summary()


def _extended(config: Config, iterations: int) -> Config:
    if iterations < config.iterations:
        raise UsageError(f"the run has {config.iterations} iterations; it can be extended, not shortened")
    if getattr(SCHEDULES[config.optimizer.schedule], "knows_the_end", False):
        raise UsageError(
            f"the learning rate of this run falls to 0 at iteration {config.iterations}: more of them would make it "
            f"another run; start a new one"
        )
    return checked_config(msgspec.structs.replace(config, iterations=iterations))


def blas_threads(threads: int | None) -> AbstractContextManager[Any]:
    """So many from now on, and at the end of the context as many as before."""
    if threads is None:
        return nullcontext()
    limits: AbstractContextManager[Any] = _pools().limit(limits=threads, user_api="blas")
    return limits


@cache
def _pools() -> Any:
    """The pools of threads, looked for once: a Ctrl-C during the search, which goes on in C, would be lost."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _prepare(config: Config, data: Dataset | None = None) -> Training:
    data = data or load(config.data, seed=config.seed)
    return Training(build_network(config, data), data, config)


def _train(
    training: Training,
    folder: RunFolder | None,
    position: Position | None,
    observers: Sequence[Observer],
    stop: Stop | None,
) -> Summary:
    config = training.config
    first, last, before = (position.first, position.last, position.seconds) if position else ({}, {}, 0.0)
    for observer in observers:
        observer.begin(training)
    started = perf_counter()
    while not training.done:
        if record := training.advance():
            last = record["gradient_norm"]
            first = first or last
            if folder:
                folder.log(record)
            for observer in observers:
                observer.log(record)
        signal = stop() if stop else None
        if folder and (signal or training.iteration % config.checkpoint_every == 0 or training.done):
            training.require_finite()
            for observer in observers:
                observer.save(training)
            size, seconds = folder.flush_metrics(), before + perf_counter() - started
            with writing(folder.path):
                save_checkpoint(folder.path, training, metrics_bytes=size, seconds=seconds, first=first, last=last)
        if signal and not training.done:
            how = f"go on with: minisig train --resume {quote(str(folder.path))}" if folder else "nothing was saved"
            raise Interrupted(f"stopped after iteration {training.iteration:,}; {how}", signal)
    summary = _summary(training, first, last, before + perf_counter() - started)
    if folder:
        params = {name: training.net.backend.to_host(w) for name, w in training.best.items()}
        folder.finish(params, model_info(config, training.data, summary), summary)
    for observer in observers:
        observer.finish(summary)
    return summary


def _summary(training: Training, first: Norms, last: Norms, seconds: float) -> Summary:
    """The outcome of a run; from here on the network is the selected one."""
    net, data, config = training.net, training.data, training.config
    net.load(training.best)
    return {
        **MADE_BY,
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
        **_metrics("valid", training.best_score),
        **_metrics("test", evaluate(net, data.test)),
        "baselines": data.baselines,
        **({"stopped_iteration": training.iteration} if training.stopped else {}),
        **({"data": data.content} if data.content else {}),
        **({"quality": found} if (found := quality(net, data)) else {}),
        "layers": [
            {"name": name, "gradient_norm_first": norm, "gradient_norm_last": last[name]}
            for name, norm in first.items()
        ],
    }


def _metrics(part: str, score: Score) -> Summary:
    return {f"{part}_{name}": value for name, value in score.items()}
