"""Short trainings of every kind, and what it means that two backends agree."""

from collections.abc import Mapping
from dataclasses import replace

import cupy
import numpy as np

from minisig.data import load
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.loop import Training

TOLERANCE = {"float32": 3e-5, "float64": 1e-10}  # of the largest entry


def agree(found, expected, dtype, where="", *, tolerance=None):
    """Arrays, numbers, or dictionaries, lists and data classes of them, wherever they live."""
    if isinstance(expected, Mapping):
        assert found.keys() == expected.keys()
        for name in expected:
            agree(found[name], expected[name], dtype, f"{where} {name}", tolerance=tolerance)
        return
    if isinstance(expected, list | tuple) and not all(isinstance(e, int | float) for e in expected):
        for i, (mine, right) in enumerate(zip(found, expected, strict=True)):
            agree(mine, right, dtype, f"{where} {i}", tolerance=tolerance)
        return
    if expected is None or isinstance(expected, str | bool):
        assert found == expected, where
        return
    mine, right = cupy.asnumpy(found), np.asarray(expected)
    assert mine.shape == right.shape, where
    size = np.abs(right[np.isfinite(right)]).max(initial=0.0)
    atol = (tolerance or TOLERANCE[dtype]) * size
    np.testing.assert_allclose(mine, right, rtol=0, atol=atol, err_msg=where)


DIGITS = {"network.hidden": [15, 12], "batch_size": 20, "optimizer.warmup": 0, "optimizer.learning_rate": 0.05}
COPY = {
    "network.hidden": [9],
    "batch_size": 10,
    "data.delay": 4,
    "optimizer.warmup": 0,
    "optimizer.learning_rate": 0.01,
}
TEXT = {"network.hidden": [9], "batch_size": 5, "data.steps": 6, "optimizer.learning_rate": 0.01}

RUNS = {
    "momentum": ("digits", DIGITS | {"optimizer.clip": None}),
    "momentum, clipped": ("digits", DIGITS | {"optimizer.clip": 0.3}),
    "adam": ("digits", DIGITS | {"optimizer.clip": None, "optimizer.name": "adam", "optimizer.learning_rate": 0.01}),
    "adam, clipped": ("digits", DIGITS | {"optimizer.clip": 0.3, "optimizer.name": "adam"}),
    "dropout": ("digits", DIGITS | {"network.dropout": 0.3}),
    "scaled tanh": ("digits", DIGITS | {"network.activation": "scaled-tanh", "network.init": "lecun"}),
    "augmented": ("digits", DIGITS | {"data.augment": {}}),
    "rnn": ("copy-memory", COPY),
    "rnn, momentum": ("copy-memory", COPY | {"optimizer.name": "momentum"}),
    "rnn, not clipped": ("copy-memory", COPY | {"optimizer.clip": None}),
    "lstm": ("copy-memory", COPY | {"network.model": "lstm"}),
    "text, rnn": ("ptb", TEXT),
    "text, lstm with dropout": ("ptb", TEXT | {"network.model": "lstm", "network.dropout": 0.2}),
    "text, two layers, momentum": ("ptb", TEXT | {"network.hidden": [7, 6], "optimizer.name": "momentum"}),
}


def configured(name, text, **overrides):
    experiment, settings = RUNS[name]
    if experiment == "ptb":
        settings = settings | {"data.path": text}
    watching = {"iterations": 20, "log_every": 1, "validate_every": 20}
    return configure(experiment, settings | watching | {key.replace("__", "."): v for key, v in overrides.items()})


def small(data):
    """With less to validate on."""
    return replace(data, valid=data.valid.head(100), test=data.test.head(100))


def training(config):
    data = small(load(config.data, seed=config.seed))
    return Training(build_network(config, data), data, config)
