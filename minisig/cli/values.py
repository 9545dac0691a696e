"""What click lacks: types of values, callbacks that refuse some, commands in their order."""

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource


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


def refuse_others(ctx: click.Context, why: str, allowed: Collection[str]) -> None:
    """Of the options given on the command line none may be another than these."""
    given = [p for p in ctx.command.params if ctx.get_parameter_source(str(p.name)) is ParameterSource.COMMANDLINE]
    names = [p.opts[0] if isinstance(p, click.Option) else p.make_metavar(ctx) for p in given if p.name not in allowed]
    if names:
        raise click.UsageError(f"{why}; leave out {', '.join(names)}.")


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
