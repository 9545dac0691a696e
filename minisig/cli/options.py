"""Option types and options that several commands share."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])


def as_json(command: F) -> F:
    return click.option("--json", "json_", is_flag=True, help="Print one JSON object and nothing else.")(command)


def finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Callback that refuses nan and inf, which click's ranges let pass."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


def not_empty(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Callback that refuses an empty path, which would mean the current folder."""
    if value is not None and str(value) in ("", "."):
        raise click.BadParameter("the path is empty." if str(value) == "" else "name a file or a new folder.")
    return value


def one_of(names: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Shell completion from a list that is only looked up when a completion is asked for."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]

    return complete


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
