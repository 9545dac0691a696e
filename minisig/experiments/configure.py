"""Configurations of the experiments, with any setting replaced."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from minisig.data import Dataset, load, source_for
from minisig.data.frame import is_table
from minisig.data.hashes import content_hash
from minisig.data.text import is_text, own_name
from minisig.errors import UsageError, require_known
from minisig.experiments.table import EXPERIMENTS, OWN, Experiment, Figure, suited_to
from minisig.models import MODELS
from minisig.settings import dotted, nested, replaced
from minisig.training.config import Config, checked_config

LONGEST = 60  # letters of a name, which may have three bytes each of the 255 that a folder's name has


def configure(experiment: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """The experiment's configuration with some settings replaced, named as in config.json.

    A table of one's own is an experiment too: configure("iris.csv") has the settings that suit what is in the file.

    >>> configure("digits", {"network.hidden": [30, 30], "optimizer.learning_rate": 0.02}).network.hidden
    (30, 30)
    """
    if is_own(experiment):
        return suited(experiment, overrides or {})[0]
    if experiment not in EXPERIMENTS and _is_file(experiment):
        raise UsageError(
            f"{experiment}: expected an experiment, or a file whose name says what it is: a table such as .csv, .tsv, "
            f".dat or .parquet, or a text, .txt"
        )
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
    if experiment in OWN.values() and isinstance(path, str):
        fields["experiment"] = label(path)
    return checked_config(replaced(fields, nested(given, Config), Config))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a name, or none at all
        return False


def known(config: Config) -> Experiment | None:
    """The experiment that a configuration is one of: a run on a table is called after its file."""
    return EXPERIMENTS.get(base(config))


def compared(config: Config, summary: Mapping[str, Any]) -> str:
    """The metric by which runs of this kind are compared; "" if the summary has none such."""
    row = known(config)
    wanted = (row.metric, *row.or_metrics) if row else ()
    return next((name for name in wanted if name in summary), "")


def base(config: Config) -> str:
    """The name of that experiment, or what the configuration says."""
    own = config.experiment not in EXPERIMENTS and config.data.source in OWN
    return OWN[config.data.source] if own else config.experiment


def is_own(experiment: str) -> bool:
    """Whether it is a file or folder of the user's own rather than the name of an experiment."""
    return experiment not in EXPERIMENTS and bool(source_of(experiment))


def source_of(path: str) -> str:
    """What reads it: "table" or "text" by the name of a file, "text" of a folder that holds some; "" for neither."""
    if is_table(path):
        return "table"
    return "text" if is_text(path) else ""


def label(path: str) -> str:
    """What a run on this file is called.

    >>> label("data/iris.csv"), label("My table (2).tsv.gz"), label("digits.csv")
    ('iris', 'My_table_2', 'digits.csv')
    """
    name = own_name(Path(path))
    stem = re.sub(r"(\.(csv|tsv|tab|dat|data|parquet|pq|txt|md|gz))+$", "", name, flags=re.IGNORECASE)
    words = [re.sub(r"[^\w.-]+", "_", text).strip("_.-") for text in (stem, name)]
    return next((word[:LONGEST] for word in words if word and word not in EXPERIMENTS), f"own-{words[0][:LONGEST]}")


def suited(experiment: str, overrides: Mapping[str, Any], epochs: int | None = None) -> tuple[Config, Dataset]:
    """The configuration and the data, loaded; where these are the user's own, with settings that suit them.

    `epochs` are passes over the training part, in the place of `iterations`.
    """
    own = is_own(experiment)
    given = dict(dotted(overrides, Config))
    if own:
        if given.get("data.path", experiment) != experiment:
            raise UsageError(f"two files, {experiment} and {given['data.path']}: which is to be trained on?")
        given["data.path"] = experiment
        experiment = OWN[source_of(given["data.path"])]
    config = configure(experiment, given)
    data = load(config.data, seed=config.seed)
    if own:
        # Another optimizer may have no weight decay, and another model has a rate and a length of its own.
        known_to = settings(config).keys() - EXPERIMENTS[experiment].models.get(config.network.model, {}).keys()
        suiting = {name: value for name, value in suited_to(data).items() if name in known_to}
        config = configure(experiment, {**suiting, **given})
    if epochs is not None:
        batches = data.train.batches(config.batch_size, config.seed)
        iterations = epochs * getattr(batches, "per_epoch", 1)
        config = checked_config(replace(config, iterations=iterations))
    return config, data


def with_init(config: Config, init: str) -> Config:
    """The same with another initialization, whose own settings have their defaults."""
    if init == config.network.init:
        return config
    return checked_config(replaced(msgspec.to_builtins(config), {"network": {"init": init}}, Config))


def own_settings(experiment: str, overrides: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    """For a comparison on the user's own data: the experiment, all that it is told, and a name for what comes out.

    No two files have the same name: results on one are never among those on another.
    """
    given = dict(dotted(overrides, Config))
    if is_own(experiment):
        config, _ = suited(experiment, given)
        usual = settings(configure(base(config), {"data.path": config.data.path}))
        chosen = {name: value for name, value in settings(config).items() if usual.get(name, ...) != value}
        left = {name: value for name, value in chosen.items() if name not in ("network.init", "seed")}
        experiment, given = base(config), {"data.path": config.data.path, **left, **given}
        name = config.experiment
    else:
        name = experiment
    path = given.get("data.path")
    return experiment, given, f"{name}-{content_hash(str(path))[:8]}" if path else name


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
