"""Other settings for a user's own table: python -m benchmarks.tables --settings

They are judged by the validation parts of splits and seeds that no reported result has. "loss" is the geometric mean,
over tables, of the validation loss as a share of that with today's settings; where nearly all is right it says
little, and the error, its difference to today's as a share of guessing's, says more. Below 1 and below 0 are better.
"""

from collections.abc import Callable, Iterable, Mapping
from math import exp, log, sqrt
from statistics import mean, stdev
from time import process_time
from typing import Any

import msgspec

from benchmarks.table_files import TABLES, table_file
from minisig.experiments import suited
from minisig.report.tables import columns
from minisig.settings import nested, replaced
from minisig.training.config import Config, checked_config
from minisig.training.run import run

FIRST = 100  # split and seed
SPLITS, LARGE_SPLITS, LARGE = 4, 1, 5_000  # of tables with more training rows
TODAY = "today"


Change = Callable[[Config], Mapping[str, Any]]


def _all(**given: Any) -> Change:
    """The same for every table; __ stands for a point."""
    return lambda config: {name.replace("__", "."): value for name, value in given.items()}


def _longer(times: float) -> Change:
    return lambda config: {
        "iterations": round(times * config.iterations),
        "patience": round(times * (config.patience or config.iterations)),
    }


def _larger_batch(times: float) -> Change:
    """For as many passes."""
    return lambda config: {
        "batch_size": round(times * config.batch_size),
        **{
            name: max(1, round(getattr(config, name) / times))
            for name in ("iterations", "validate_every", "log_every", "patience")
        },
    }


def _both(*changes: Change) -> Change:
    return lambda config: {name: value for change in changes for name, value in change(config).items()}


CHANGES: dict[str, Change] = {
    TODAY: _all(),
    "hidden 20": _all(network__hidden=(20,)),
    "hidden 100": _all(network__hidden=(100,)),
    "hidden 100 100": _all(network__hidden=(100, 100)),
    "hidden 50 50 50": _all(network__hidden=(50, 50, 50)),
    "learning rate 0.003": _all(optimizer__learning_rate=0.003),
    "learning rate 0.02": _all(optimizer__learning_rate=0.02),
    "weight decay 0.01": _all(optimizer__weight_decay=0.01),
    "weight decay 0.3": _all(optimizer__weight_decay=0.3),
    "weight decay 1": _all(optimizer__weight_decay=1.0),
    "half as long": _longer(0.5),
    "twice as long": _longer(2),
    "no patience": _all(patience=None),
    "no patience, twice as long": _both(_longer(2), _all(patience=None)),
    "no patience, weight decay 0.01": _all(patience=None, optimizer__weight_decay=0.01),
    "no patience, dropout 0.1": _all(patience=None, network__dropout=0.1),
    "batch / 2": _larger_batch(0.5),
    "batch × 2": _larger_batch(2),
    "batch × 4": _larger_batch(4),
}


def compare(names: Iterable[str], changes: Mapping[str, Change] = CHANGES) -> str:
    """Every change on every table, as a text."""
    logs: dict[str, dict[str, float]] = {change: {} for change in changes}
    excess: dict[str, list[float]] = {change: [] for change in changes}
    seconds = dict.fromkeys(changes, 0.0)
    for name in names:
        path, table = str(table_file(name)), TABLES[name]
        ratios: dict[str, list[float]] = {change: [] for change in changes}
        split, splits = FIRST, SPLITS
        while split < FIRST + splits:
            config, data = suited(path, {**table.settings, "data.split": split, "seed": split})
            splits = LARGE_SPLITS if len(data.train.x) > LARGE else SPLITS
            found = {}
            for change, how in changes.items():
                started = process_time()
                found[change] = run(changed(config, how), data=data)
                seconds[change] += process_time() - started
            metric = "valid_error" if "valid_error" in found[TODAY] else "valid_rmse"
            for change, summary in found.items():
                ratios[change].append(log(summary["valid_loss"] / found[TODAY]["valid_loss"]))
                guessing = data.baselines["guessing"]
                excess[change].append(100 * (summary[metric] - found[TODAY][metric]) / guessing)
            split += 1
        for change in changes:
            logs[change][name] = mean(ratios[change])
        print(name, {change: round(exp(found[name]), 3) for change, found in logs.items()}, flush=True)
    tables = list(logs[TODAY])
    rows = [["settings", "loss", "standard error", "error, % of guessing's", "standard error", "CPU seconds", *tables]]
    for change in sorted(changes, key=lambda change: mean(logs[change].values())):
        shares = [logs[change][name] for name in tables]
        told = [f"{exp(mean(shares)):.3f}", f"{_spread(shares):.3f}"]
        told += [f"{mean(excess[change]):+.2f}", f"{_spread(excess[change]):.2f}", f"{seconds[change]:.0f}"]
        rows.append([change, *told, *(f"{exp(share):.3f}" for share in shares)])
    return columns(rows)


def _spread(values: list[float]) -> float:
    """The standard error of their mean."""
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0


def changed(config: Config, change: Change) -> Config:
    """The configuration with some settings replaced."""
    return checked_config(replaced(msgspec.to_builtins(config), nested(dict(change(config)), Config), Config))
