"""The command in a report makes the same configuration again."""

import shlex

import msgspec
import pytest

from minisig.cli import main
from minisig.cli.overrides import overrides
from minisig.cli.repeat import commands, train_command
from minisig.experiments import configure
from minisig.experiments.compare import plan
from minisig.report.runs import Run

SETTINGS = [
    ("digits", {}),
    ("digits", {"network.hidden": [100] * 100, "network.init": "lsuv", "seed": 7}),
    ("digits", {"network.hidden": [30], "optimizer.learning_rate": 0.003, "batch_size": 10, "dtype": "float64"}),
    ("xor", {"iterations": 3, "threads": 2, "optimizer.clip": None, "data.path": "/my data/it's.csv"}),
    ("mnist-deep", {"data.augment": {"alpha": 3.5}, "network.activation": "scaled-tanh", "select_by": "error"}),
    ("mnist-deep-augmented", {"data.augment": None}),
    ("copy-memory", {"network.model": "lstm", "data.delay": 50}),
    ("copy-memory", {"network.model": "lstm", "network.hidden": [100], "network.init": "ortho"}),
    ("ptb", {"network.radius": 4.5, "network.ep_mode": "joint", "statistics_every": 100, "optimizer.name": "momentum"}),
]


def configured(command):
    """What `minisig train` would make of it."""
    name, *words = shlex.split(command)[1:]
    options = main.commands[name].make_context(name, words).params
    experiment = options.pop("experiment")
    for other in ("out", "resume", "tensorboard", "json_"):
        options.pop(other)
    return configure(experiment, overrides(experiment, **options))


@pytest.mark.parametrize(("experiment", "settings"), SETTINGS)
def test_the_command_makes_the_same_configuration(experiment, settings):
    config = configure(experiment, settings)
    assert configured(train_command(config)) == config


def test_the_command_of_an_experiment_as_it_is_has_no_options():
    assert train_command(configure("digits")) == "minisig train digits"
    assert train_command(configure("digits", {"network.hidden": [100] * 9})) == "minisig train digits --hidden 9x100"


@pytest.mark.parametrize("field", ["experiment", "backend", "dtype"])
def test_what_no_command_makes_has_none(field):
    assert train_command(msgspec.structs.replace(configure("digits"), **{field: "$(rm -rf /)"})) is None


def made(jobs):
    return [Run(job.row, job.config, None, None, None) for job in jobs]


@pytest.mark.parametrize(
    ("experiment", "rows", "seeds", "settings", "command"),
    [
        ("digits", ["random+ep", "lecun"], 3, {}, "--init random+ep,lecun --seeds 3"),
        ("digits", ["lecun"], 2, {"iterations": 9}, "--init lecun --seeds 2 --iterations 9"),
        ("copy-memory", ["ortho", "lstm"], 2, {"data.delay": 9}, "--init ortho,lstm --seeds 2 --set data.delay=9"),
        ("mnist-deep", ["lsuv", "scaled-tanh"], 1, {"threads": 2}, "--init lsuv,scaled-tanh --seeds 1 --threads 2"),
    ],
)
def test_a_comparison_is_repeated_by_one_command(experiment, rows, seeds, settings, command):
    jobs = plan(experiment, rows, seeds, {"threads": 1} | settings)
    assert commands(made(jobs)) == [f"minisig compare {experiment} {command}"]


def test_runs_that_are_no_comparison_have_a_command_each():
    jobs = plan("digits", ["random+ep", "lecun"], 2, {"threads": 1})
    found = commands(made(jobs[:3]))
    assert [configured(command) for command in found] == [job.config for job in jobs[:3]]
