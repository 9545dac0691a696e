"""What is printed, and whether anybody looks."""

import sys

import click

from minisig.errors import printable


def say(text: str, *, err: bool = False) -> None:
    """Print what may come from somebody's files, which must not reach the terminal as commands to it."""
    click.echo(printable(text), err=err)


def watched() -> bool:
    """Whether somebody looks at a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
