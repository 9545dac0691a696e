"""What the lessons share: how one is started, and where its figure goes."""

import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click
from threadpoolctl import threadpool_limits

from minisig.errors import MinisigError, writing
from minisig.report.figures import require_drawable, save


def run(lesson: Callable[[Path], Any]) -> None:
    """Teach, from the command line."""

    @click.command(help=sys.modules["__main__"].__doc__)
    @click.option("--out", type=click.Path(path_type=Path), default=".", help="Folder for the figure.")
    def command(out: Path) -> None:
        try:
            with threadpool_limits(1, user_api="blas"):  # on small matrices threads would only wait for each other
                lesson(out)
        except MinisigError as error:
            click.echo(f"Error: {error}", err=True)
            raise SystemExit(error.exit_code) from None

    if isinstance(sys.stdout, TextIOWrapper):  # a terminal that knows no σ shows ? in its place
        sys.stdout.reconfigure(errors="replace")
    command(prog_name=f"python -m minisig.lessons.{Path(sys.argv[0]).stem}")


def picture(path: Path, draw: Callable[[], Any]) -> None:
    """Save the figure that `draw` makes, or say what is missing."""
    try:
        require_drawable(path)
    except MinisigError as error:
        print(f"\n{error}")
        return
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    save(draw(), path)
    print(f"\nThe figure is {path}.")
