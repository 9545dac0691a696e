"""Configurations of the experiments, with any setting replaced."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from minisig.data import source_for
from minisig.errors import UsageError, require_known
from minisig.experiments.table import EXPERIMENTS, Figure
from minisig.models import MODELS
from minisig.settings import dotted, nested, replaced
from minisig.training.config import Config, checked_config


def configure(experiment: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """The experiment's configuration with some settings replaced, named as in config.json.

    >>> configure("digits", {"network.hidden": [30, 30], "optimizer.learning_rate": 0.02}).network.hidden
    (30, 30)
    """
    require_known("experiment", experiment, EXPERIMENTS)
    known = EXPERIMENTS[experiment]
    given = dict(dotted(overrides or {}, Config))
    model = given.get("network.model")
    if model is not None:
        require_known("model", str(model), MODELS)
        given = {**known.models.get(model, {}), **given}
    if "experiment" in given:
        raise UsageError("the experiment is named first on the command line, it is not a setting")
    fields = msgspec.to_builtins(known.config) | {"experiment": experiment}
    if isinstance(path := given.get("data.path"), str) and "data.source" not in given:
        given["data.source"] = source_for(path, fields["data"]["source"])
    return checked_config(replaced(fields, nested(given, Config), Config))


def paper_figure(row: str, config: Config) -> Figure | None:
    """The paper's result for this row of a comparison, if the network and the data are the paper's."""
    known = EXPERIMENTS.get(config.experiment)
    if known is None or row not in known.paper:
        return None
    theirs = configure(config.experiment, known.rows.get(row, {"network.init": row}))
    same = theirs.network == config.network and replace(theirs.data, hold_out=config.data.hold_out) == config.data
    return known.paper[row] if same else None


def settings(config: Config) -> dict[str, Any]:
    """All settings of a configuration by those names."""
    return dict(dotted(msgspec.to_builtins(config), Config))
