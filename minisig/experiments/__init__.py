"""Experiments: what is trained, and how its variants compare.

table.py        the experiments as data
compare.py      every initialization over several seeds, finished runs never repeated
results.py      the runs of a comparison and what they brought, in memory and on disk
under_way.py    a run while it is being made, which an interruption does not undo
executors.py    where the runs are made: here, in processes, on a cluster
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from math import isfinite
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec.structs import replace

from minisig.activations import ACTIVATIONS
from minisig.backends import BACKENDS, DTYPES
from minisig.errors import UsageError, require_known
from minisig.experiments.table import EXPERIMENTS, PAPER_INITS, Experiment, Figure, inits_of
from minisig.initializers import INITIALIZERS
from minisig.training.build import MODELS
from minisig.training.config import Config, checked_config


def configure(experiment: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """The experiment's configuration with some fields replaced, named as in config.json.

    >>> configure("digits", {"network.hidden": [30, 30], "optimizer.learning_rate": 0.02}).network.hidden
    (30, 30)
    """
    require_known("experiment", experiment, EXPERIMENTS)
    known = EXPERIMENTS[experiment]
    overrides = dict(dotted(overrides or {}))
    model = overrides.get("network.model")
    if model is not None:
        require_known("model", str(model), MODELS)
        overrides = {**known.models.get(model, {}), **overrides}
    fields = msgspec.to_builtins(known.config) | {"experiment": experiment}
    for name, value in overrides.items():
        if name == "experiment":
            raise UsageError("the experiment is named first on the command line, it is not a setting")
        *path, last = name.split(".")
        inner, known_settings = fields, _settings_of(Config)
        del known_settings["experiment"]
        for step in path:
            known_settings = _settings_of(known_settings.get(step))
            if known_settings and inner.get(step) is None:  # a group that was left out so far
                inner[step] = {}
            inner = inner.get(step)
            if not isinstance(inner, dict):
                raise UsageError(f"unknown setting '{name}': '{step}' is not a group of settings")
        require_known(f"setting of {'.'.join(path)}" if path else "setting", last, known_settings)
        inner[last] = deepcopy(value)
    for name, value in dotted(fields):
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{name}: expected a finite number, got {value}")
    _require_known_words(fields, Config)
    config = checked_config(fields)
    require_known("backend", config.backend, BACKENDS)
    require_known("dtype", config.dtype, DTYPES)
    require_known("init", config.network.init, INITIALIZERS)
    require_known("activation", config.network.activation, ACTIVATIONS)
    return config


def paper_figure(row: str, config: Config) -> Figure | None:
    """The paper's result for this row of a comparison, if the network and the data are the paper's."""
    known = EXPERIMENTS.get(config.experiment)
    if known is None or row not in known.paper:
        return None
    theirs = configure(config.experiment, known.rows.get(row, {"network.init": row}))
    same = theirs.network == config.network and replace(theirs.data, hold_out=config.data.hold_out) == config.data
    return known.paper[row] if same else None


def _settings_of(kind: Any) -> dict[str, Any]:
    """Names and types of what a type, or one that may be left out, has for settings."""
    for one in (kind, *get_args(kind)):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            return {field.name: field.type for field in msgspec.structs.fields(one)}
    return {}


def _require_known_words(fields: Mapping[str, Any], kind: Any, before: str = "") -> None:
    """Where a setting is one of a few words, say which."""
    for name, inner in _settings_of(kind).items():
        value = fields.get(name)
        if get_origin(inner) is Literal and isinstance(value, str):
            require_known(f"{before}{name}", value, get_args(inner))
        elif isinstance(value, Mapping):
            _require_known_words(value, inner, f"{before}{name}.")


def dotted(fields: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by the name that configure knows it by.

    >>> dict(dotted({"seed": 0, "network": {"init": "lsuv"}}))
    {'seed': 0, 'network.init': 'lsuv'}
    """
    for name, value in fields.items():
        if isinstance(value, dict) and value:
            yield from dotted(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def settings(config: Config) -> dict[str, Any]:
    """All settings of a configuration by those names."""
    return dict(dotted(msgspec.to_builtins(config)))


__all__ = ["EXPERIMENTS", "PAPER_INITS", "Experiment", "configure", "dotted", "inits_of", "paper_figure", "settings"]
