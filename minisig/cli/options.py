"""Option types and options that several commands share."""

import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from minisig.errors import printable

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


def finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Callback that refuses nan and inf, which click's ranges let pass."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


def not_empty(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Callback that refuses an empty text, which as a path would mean the current folder."""
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.BadParameter("it is empty.")
    return value


def in_a_folder(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Callback that refuses a file in a folder that is not there, before anything is done for it."""
    if not_empty(ctx, param, value) is not None and not Path(value).parent.is_dir():
        raise click.BadParameter(f"{value!r}: there is no folder {Path(value).parent}; make it first.")
    return value


def say(text: str, *, err: bool = False) -> None:
    """Print what may come from somebody's files, which must not reach the terminal as commands to it."""
    click.echo(printable(text), err=err)


def watched() -> bool:
    """Whether somebody looks at a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def refuse_others(ctx: click.Context, why: str, allowed: Collection[str]) -> None:
    """Of the options given on the command line none may be another than these."""
    given = [p for p in ctx.command.params if ctx.get_parameter_source(str(p.name)) is ParameterSource.COMMANDLINE]
    names = [p.opts[0] if isinstance(p, click.Option) else p.make_metavar(ctx) for p in given if p.name not in allowed]
    if names:
        raise click.UsageError(f"{why}; leave out {', '.join(names)}.")


def one_of(names: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Shell completion from a list that is only looked up when a completion is asked for."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]

    return complete


class InOrder(click.Group):
    """Commands not by the alphabet, but as one meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class Hidden(click.ParamType):  # type: ignore[type-arg]
    """Sizes of hidden layers: 800, or 2500,2000,1500, or 8x100 for eight layers of 100."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        sizes: list[int] = []
        for item in value.split(","):
            match = re.fullmatch(r"\s*(?:([1-9]\d{0,3})[x×])?([1-9]\d{0,6})\s*", item)
            if not match:
                self.fail(
                    f"{value!r}: expected sizes such as 800, or 2500,2000,1500, or 8x100 for eight layers of 100."
                )
            sizes += [int(match[2])] * int(match[1] or 1)
        return tuple(sizes)


def _experiments() -> list[str]:
    from minisig.experiments import EXPERIMENTS

    return list(EXPERIMENTS)


def _inits() -> list[str]:
    from minisig.initializers import INITIALIZERS

    return list(INITIALIZERS)


def _activations() -> list[str]:
    from minisig.activations import ACTIVATIONS

    return list(ACTIVATIONS)


def _models() -> list[str]:
    from minisig.training.build import MODELS

    return list(MODELS)


INIT = click.option(
    "--init",
    shell_complete=one_of(_inits),
    help="random+ep, ortho+ep, lsuv, ortho, glorot or lecun; random+exact or ortho+exact, at the true entropy's "
    "maximum.  [default: random+ep; of an LSTM glorot]",
)
SEED = click.option("--seed", type=click.IntRange(min=0), help="Same seed, same bits.  [default: 0]")
DATA = (
    click.option(
        "--data",
        type=click.Path(),
        callback=not_empty,
        help="Your own .npz or .csv, a folder of IDX files, or one of text for sequences.",
    ),
    click.option(
        "--backend",
        shell_complete=one_of(lambda: ("numpy", "cupy")),
        help="numpy, or cupy for a GPU.  [default: numpy]",
    ),
    click.option(
        "--dtype",
        shell_complete=one_of(lambda: ("float32", "float64")),
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
        help="Any other setting by its name in config.json, such as data.delay=50. Repeatable.",
    ),
)
NETWORK = (
    click.option("--hidden", type=Hidden(), help="Hidden layers: 800, or 2500,2000,1500, or 8x100 for eight of 100."),
    click.option("--model", shell_complete=one_of(_models), help="mlp; for sequences rnn (of sigmoids) or lstm."),
    click.option(
        "--activation",
        shell_complete=one_of(_activations),
        help="sigmoid, scaled-tanh or tanh; relu, softplus or erf, which EP is not about.",
    ),
    click.option("--batch-size", type=click.IntRange(min=1), help="Examples in an update."),
    *DATA,
    *FROM_CONFIG,
)
TRAINING = (
    click.option("--iterations", type=click.IntRange(min=1), help="Updates to make."),
    click.option(
        "--learning-rate",
        type=click.FloatRange(min=0, min_open=True),
        callback=finite,
        help="Step size of the optimizer.",
    ),
)

# The configuration's name for each option.
SETTINGS = {
    "model": "network.model",
    "init": "network.init",
    "hidden": "network.hidden",
    "activation": "network.activation",
    "iterations": "iterations",
    "batch_size": "batch_size",
    "learning_rate": "optimizer.learning_rate",
    "seed": "seed",
    "data": "data.path",
    "backend": "backend",
    "dtype": "dtype",
    "threads": "threads",
}

MOST_BYTES = 2**20  # of a file of settings


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """These options, in the order in which the help lists them."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def experiment_argument(**attributes: Any) -> Callable[[F], F]:
    return click.argument("experiment", shell_complete=one_of(_experiments), callback=not_empty, **attributes)


def network_options(command: F) -> F:
    """The argument EXPERIMENT and the options that say which network it is."""
    return all_of(experiment_argument(default="digits"), INIT, SEED, *NETWORK)(command)


def overrides(experiment: str, settings: tuple[str, ...], config: str | None, **options: Any) -> dict[str, Any]:
    """What the options given say, by the configuration's names; they win over the file, and a --set over them."""
    given = _from_file(config, experiment) if config else {}
    given |= {SETTINGS[option]: value for option, value in options.items() if value is not None}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{setting!r}: expected NAME=VALUE, such as data.delay=50.", param_hint="--set")
        try:
            given[name] = json.loads(text)
        except (ValueError, RecursionError):
            given[name] = text  # a word, which needs no quotes
    return given


def _from_file(path: str, experiment: str) -> dict[str, Any]:
    import tomllib

    from minisig.errors import UsageError, require_known
    from minisig.experiments import EXPERIMENTS, configure, dotted, settings

    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise click.BadParameter(f"{path} is larger than any settings should be.", param_hint="--config")
        tables = tomllib.loads(content.decode("utf-8-sig"))
        given = dict(dotted(tables))
    except (ValueError, RecursionError) as error:  # of tomllib, of UTF-8, of tables in tables in tables
        hint = " The settings of a config.json are given as TOML." if path.endswith(".json") else ""
        raise click.BadParameter(f"{path}: {error}.{hint}", param_hint="--config") from None
    if (named := given.pop("experiment", experiment)) != experiment:
        raise click.BadParameter(
            f"{path} is for {named!r}, not for {experiment}; name that one, or remove its line 'experiment'.",
            param_hint="--config",
        )
    require_known("experiment", experiment, EXPERIMENTS)
    groups = {name.partition(".")[0] for name in settings(EXPERIMENTS[experiment].config) if "." in name}
    for name in [name for name, value in given.items() if value == {} and name in groups]:
        del given[name]  # a table without a line in it leaves the group as it is
    try:
        configure(experiment, given)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return given
