"""The command that makes a run again: the inverse of the options."""

import json
from collections.abc import Mapping, Sequence
from shlex import join
from typing import Any

from minisig.cli.overrides import SETTINGS
from minisig.errors import UsageError
from minisig.experiments import EXPERIMENTS, base, configure, known, settings
from minisig.experiments.compare import plan
from minisig.report.runs import Run
from minisig.report.tables import alike
from minisig.training.config import Config

MANY = ("data.target", "data.ignore")  # options that may come several times


def commands(runs: Sequence[Run]) -> list[str]:
    """One comparison, if these runs are one; otherwise a command for every run that the options can describe."""
    found = _comparison(runs) if len(runs) > 1 else None
    return [found] if found else [command for run in runs if (command := train_command(run.config))]


def train_command(config: Config) -> str | None:
    """`minisig train …` for exactly this configuration; None if no options make it."""
    given = _given(config)
    return None if given is None else join(["minisig", "train", base(config), *_options(given)])


def _comparison(runs: Sequence[Run]) -> str | None:
    experiment = known(runs[0].config)
    first = next((run.config for run in runs if experiment and run.row not in experiment.rows), None)
    given = _given(first) if first else None
    if given is None or first is None:
        return None
    given = {name: value for name, value in {"threads": None, **given}.items() if name not in ("network.init", "seed")}
    if given["threads"] == 1:  # what a comparison has by itself
        del given["threads"]
    rows, seeds = list(dict.fromkeys(run.row for run in runs)), 1 + max(run.config.seed for run in runs)
    if seeds > len(runs):
        return None
    try:
        jobs = plan(base(first), rows, seeds, {"threads": 1, **given})
    except UsageError:
        return None
    if {(job.row, job.config) for job in jobs} != {(run.row, run.config) for run in runs}:
        return None
    choice = ["--init", ",".join(rows), "--seeds", str(seeds)]
    return join(["minisig", "compare", base(first), *choice, *_options(given)])


def _given(config: Config) -> dict[str, Any] | None:
    """The settings in which a configuration differs from its experiment's own."""
    experiment = base(config)
    if experiment not in EXPERIMENTS:
        return None
    own = settings(config)
    model = {"network.model": config.network.model}
    try:
        default = settings(configure(experiment, model | _path(config)))
        given = {name: value for name, value in own.items() if default.get(name, ...) != value} | _path(config)
        if own["network.model"] != EXPERIMENTS[experiment].config.network.model:
            given |= model
        without = {name: value for name, value in given.items() if name != "data.source"}  # which the path tells
        for shorter in (without, given):
            if configure(experiment, shorter) == config:
                return shorter
        return None
    except UsageError:
        return None


def _path(config: Config) -> dict[str, Any]:
    """What the table of one's own is called after."""
    return {"data.path": config.data.path} if config.experiment not in EXPERIMENTS else {}


def _options(given: Mapping[str, Any]) -> list[str]:
    names = {name: f"--{option.replace('_', '-')}" for option, name in SETTINGS.items()}
    words = []
    for name, value in given.items():
        if name == "network.hidden" and value:
            words += [names[name], _hidden(value)]
        elif name in MANY and value:
            words += [word for one in value for word in (names[name], one)]
        elif name in names and name not in ("network.hidden", *MANY) and value is not None:
            words += [names[name], str(value)]
        else:
            words += ["--set", f"{name}={json.dumps(value)}"]
    return words


def _hidden(sizes: Sequence[int]) -> str:
    return f"{len(sizes)}x{sizes[0]}" if alike(sizes) else ",".join(map(str, sizes))
