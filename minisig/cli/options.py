"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from minisig.cli.completion import names_in
from minisig.cli.values import Hidden, finite, in_a_folder, not_empty

F = TypeVar("F", bound=Callable[..., Any])


def as_json(command: F) -> F:
    return click.option("--json", "json_", is_flag=True, help="Print one JSON object and nothing else.")(command)


def plot(command: F) -> F:
    return click.option(
        "--plot",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        callback=in_a_folder,
        help="Draw it as well: FILE.png, .svg or .pdf (needs minisig[viz]).",
    )(command)


INIT = click.option(
    "--init",
    shell_complete=names_in("initializers:INITIALIZERS"),
    help="random+ep, ortho+ep, lsuv, ortho, glorot or lecun; random+exact or ortho+exact, at the true entropy's "
    "maximum.  [default: random+ep; of an LSTM glorot]",
)
SEED = click.option("--seed", type=click.IntRange(min=0), help="Same seed, same bits.  [default: 0]")
DATA = (
    click.option(
        "--data",
        type=click.Path(),
        callback=not_empty,
        help="Your own table (.csv, .tsv, .parquet) or .npz, a folder of IDX files, or one of text for sequences.",
    ),
    click.option(
        "--backend",
        shell_complete=names_in("backends:BACKENDS"),
        help="numpy, or cupy for a GPU.  [default: numpy]",
    ),
    click.option(
        "--dtype",
        shell_complete=names_in("backends:DTYPES"),
        help="float32 or float64.  [default: float32]",
    ),
)
FROM_CONFIG = (
    click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False),
        help="A TOML file of settings, of the shape of config.json; options win over it, and --set over them.",
    ),
    click.option(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        multiple=True,
        help="Any other setting by its name, such as data.delay=50; `minisig settings` lists them. Repeatable.",
    ),
)
HIDDEN = click.option(
    "--hidden", type=Hidden(), help="Hidden layers: 800, or 2500,2000,1500, or 8x100 for eight of 100."
)
PARTS = (
    click.option(
        "--model",
        shell_complete=names_in("models:MODELS"),
        help="mlp; for sequences rnn (of sigmoids), lstm or gru.",
    ),
    click.option(
        "--activation",
        shell_complete=names_in("activations:ACTIVATIONS"),
        help="sigmoid, scaled-tanh, tanh, relu, softplus or erf.",
    ),
)
BATCH_SIZE = click.option("--batch-size", type=click.IntRange(min=1), help="Examples in an update.")
OWN_TABLE = (
    click.option(
        "--target",
        multiple=True,
        metavar="COLUMN",
        help="Of your own table: what is to be predicted; repeatable.  [default: the last column that can be]",
    ),
    click.option("--ignore", multiple=True, metavar="A,B", help="Of your own table: columns to leave out."),
    click.option(
        "--task",
        type=click.Choice(["classification", "regression"]),
        help="Of your own table.  [default: by the target's values]",
    ),
)
NETWORK = (HIDDEN, *PARTS, BATCH_SIZE, *DATA, *OWN_TABLE, *FROM_CONFIG)
TRAINING = (
    click.option("--iterations", type=click.IntRange(min=1), help="Updates to make."),
    click.option(
        "--optimizer",
        shell_complete=names_in("optimizers:OPTIMIZERS"),
        help="momentum, sgd, adam, adamw or rmsprop.",
    ),
    click.option(
        "--learning-rate",
        "--lr",
        type=click.FloatRange(min=0, min_open=True),
        callback=finite,
        help="Step size of the optimizer.",
    ),
)


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """These options, in the order in which the help lists them."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def experiment_argument(**attributes: Any) -> Callable[[F], F]:
    return click.argument(
        "experiment", shell_complete=names_in("experiments:EXPERIMENTS"), callback=not_empty, **attributes
    )


def network_options(command: F) -> F:
    """The argument EXPERIMENT and the options that say which network it is."""
    return all_of(experiment_argument(default="digits"), INIT, SEED, *NETWORK)(command)
