"""The command in a report makes the same configuration again."""

import shlex

import msgspec
import pytest

from minisig.cli import main
from minisig.cli.overrides import overrides
from minisig.cli.repeat import commands, train_command
from minisig.experiments import configure, own_settings, suited
from minisig.experiments.compare import plan
from minisig.report.runs import Run
from minisig.training.run import run
from tests.support import shop

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
    for other in ("out", "resume", "tensorboard", "json_", "epochs"):
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


# Tables of one's own


@pytest.fixture
def table(tmp_path):
    """With names that a shell, or an option, would take for something else."""
    (tmp_path / "it's mine").mkdir()
    columns = shop.cells() | {"a, b": ["1", "2", "3"] * 50, "--ripe": [*"yn"] * 75, "$(sold)": [*"yn"] * 75}
    return str(shop.write(tmp_path / "it's mine" / "shop no. 1.csv", columns))


OWN = [
    {},
    {"data.target": ["price"]},
    {"data.target": ["price", "tax"], "data.ignore": ["fruit", "a, b"], "seed": 3},
    {"data.target": ["--ripe", "$(sold)"], "network.init": "lecun", "iterations": 9},
    {"data.target": ["grade"], "data.task": "regression", "optimizer.name": "sgd", "optimizer.learning_rate": 0.1},
    {"data.categorical": ["year"], "data.categories": 5, "data.test_share": 0.3, "patience": None},
]


@pytest.mark.parametrize("settings", OWN)
def test_the_command_of_a_run_on_a_table_makes_the_same_run_again(table, settings):
    config, _ = suited(table, settings)
    command = train_command(config)
    assert command.startswith("minisig train table ")
    assert configured(command) == config


def test_the_same_run_again_has_the_same_results(table):
    config, _ = suited(table, {"iterations": 20, "data.target": ["fruit"]})
    first, again = (run(one) for one in (config, configured(train_command(config))))
    assert {**first, "seconds": 0} == {**again, "seconds": 0}


def test_a_comparison_on_a_table_is_repeated_by_one_command(table):
    experiment, chosen, _ = own_settings(table, {"data.target": ["fruit"], "batch_size": 9})
    jobs = plan(experiment, ["random+ep", "lecun"], 2, {"threads": 1, **chosen})
    (command,) = commands(made(jobs))
    name, *words = shlex.split(command)[1:]
    options = main.commands[name].make_context(name, words).params
    rest = {
        key: options.pop(key) for key in ("init", "seeds", "experiment", "workers", "scheduler", "out", "plot", "form")
    }
    again = plan(
        rest["experiment"], rest["init"].split(","), rest["seeds"], {"threads": 1, **overrides("table", **options)}
    )
    assert {(job.row, job.config) for job in again} == {(job.row, job.config) for job in jobs}
