"""Help of the command line, and how little it imports."""

import shlex

import click
import pytest

from minisig.activations import ACTIVATIONS
from minisig.cli import main
from minisig.experiments import EXPERIMENTS
from minisig.initializers import INITIALIZERS
from tests.cli.command import cli, commands, python

COMMANDS = [[], *(name.split() for name, _ in commands())]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_in_eighty_columns(command):
    short, long = cli(*command, "-h"), cli(*command, "--help")
    assert (short.exit_code, short.stderr) == (0, "")
    assert short.stdout == long.stdout
    assert short.stdout.startswith(f"Usage: {' '.join(['main', *command])}")
    assert max(map(len, short.stdout.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_every_option_says_what_it_is_for(command):
    params = dict(commands())[" ".join(command)].params
    assert all(option.help for option in params if option.param_type_name == "option")


def test_the_first_help_names_the_commands_and_the_exit_codes():
    text = " ".join(cli("--help").stdout.split())
    assert all(f" {name} " in text for name in main.commands)
    for code in ("0 done", "1 failed", "2 wrong usage", "3 backend unavailable", "4 training diverged", "5 data"):
        assert code in text


def test_help_of_train_names_every_experiment_initializer_and_activation():
    words = set(
        cli("train", "--help").stdout.replace(",", " ").replace(";", " ").replace(".", " ").replace(":", " ").split()
    )
    assert words >= {*EXPERIMENTS, *INITIALIZERS, *ACTIVATIONS}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_examples_of_the_help_are_commands_that_exist(command):
    examples = [line.split("  ") for line in cli(*command, "--help").stdout.splitlines() if "  minisig " in line]
    assert examples
    for example in examples:
        name, *args = shlex.split(next(part for part in example if part))[1:]
        found = main.commands[name]
        while isinstance(found, click.Group):
            name, *args = args
            found = found.commands[name]
        assert found.make_context(name, args).params is not None  # an unknown option would be refused here


@pytest.mark.parametrize("args", [[*command, "--help"] for command in COMMANDS] + [["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(args):
    code = (
        "import sys; from minisig.cli import main; main(sys.argv[1:], standalone_mode=False);"
        "print(*(sys.modules.keys() & {'numpy', 'scipy', 'rich', 'safetensors', 'msgspec'}), file=sys.stderr)"
    )
    done = python("-c", code, *args)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert done.stdout
