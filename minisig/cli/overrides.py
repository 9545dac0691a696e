"""What the options, a file of settings and --set say, by the configuration's names."""

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

# The configuration's name for each option.
SETTINGS = {
    "model": "network.model",
    "init": "network.init",
    "hidden": "network.hidden",
    "activation": "network.activation",
    "iterations": "iterations",
    "batch_size": "batch_size",
    "optimizer": "optimizer.name",
    "learning_rate": "optimizer.learning_rate",
    "seed": "seed",
    "data": "data.path",
    "target": "data.target",
    "ignore": "data.ignore",
    "task": "data.task",
    "backend": "backend",
    "dtype": "dtype",
    "threads": "threads",
}

MAX_BYTES = 2**20  # of a file of settings


def overrides(experiment: str, settings: tuple[str, ...], config: str | None, **options: Any) -> dict[str, Any]:
    """What the options given say, by the configuration's names; they win over the file, and a --set over them."""
    given = _from_file(config, experiment) if config else {}
    given |= {SETTINGS[option]: value for option, value in options.items() if value not in (None, ())}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{setting!r}: expected NAME=VALUE, such as data.delay=50.", param_hint="--set")
        try:
            given[name] = json.loads(text)
        except (ValueError, RecursionError):
            given[name] = text  # a word, which needs no quotes
    return given


def own_table(ctx: click.Context, experiment: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Where only --data names a table or a text, it is what is trained on: its file stands for the experiment."""
    from minisig.experiments.configure import source_of

    data, unnamed = options["data"], ctx.get_parameter_source("experiment") is ParameterSource.DEFAULT
    if unnamed and data and source_of(data) and not Path(data).is_dir():
        return data, {**options, "data": None}
    return experiment, options


def _from_file(path: str, experiment: str) -> dict[str, Any]:
    import tomllib

    from minisig.errors import UsageError, require_known
    from minisig.experiments import EXPERIMENTS, configure, is_own, settings
    from minisig.experiments.configure import source_of
    from minisig.experiments.table import OWN
    from minisig.settings import dotted
    from minisig.training.config import Config

    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise click.BadParameter(f"{path} is larger than any settings should be.", param_hint="--config")
        tables = tomllib.loads(content.decode("utf-8-sig"))
        given = dict(dotted(tables, Config))
    except (ValueError, RecursionError) as error:  # of tomllib, of UTF-8, of tables in tables in tables
        hint = " The settings of a config.json are given as TOML." if path.endswith(".json") else ""
        raise click.BadParameter(f"{path}: {error}.{hint}", param_hint="--config") from None
    if (named := given.pop("experiment", experiment)) != experiment:
        raise click.BadParameter(
            f"{path} is for {named!r}, not for {experiment}; name that one, or remove its line 'experiment'.",
            param_hint="--config",
        )
    if is_own(experiment):
        experiment = OWN[source_of(experiment)]
    require_known("experiment", experiment, EXPERIMENTS)
    groups = {name.partition(".")[0] for name in settings(EXPERIMENTS[experiment].config) if "." in name}
    for name in [name for name, value in given.items() if value == {} and name in groups]:
        del given[name]  # a table without a line in it leaves the group as it is
    try:
        configure(experiment, given)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return given
