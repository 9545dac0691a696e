"""Shell completion from tables that are only looked up when a completion is asked for."""

from collections.abc import Callable, Iterable
from importlib import import_module

import click
from click.shell_completion import CompletionItem


def names_in(table: str) -> Callable[..., list[CompletionItem]]:
    """The names of a table, such as "layers:CELLS" of this package."""
    module, _, attribute = table.partition(":")
    return one_of(lambda: getattr(import_module(f"minisig.{module}"), attribute))


def one_of(names: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Shell completion from a list that is only looked up when a completion is asked for."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]

    return complete
