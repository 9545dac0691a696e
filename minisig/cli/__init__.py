"""The command line: one file a command.

Modules here import nothing heavy at their top, so that `minisig --help` is instant.
"""

from typing import Any

import click

from minisig import __version__
from minisig.cli.theory import theory
from minisig.cli.train import train
from minisig.errors import MinisigError


class Failure(click.ClickException):
    def __init__(self, error: MinisigError) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_code  # type: ignore[misc]


class Commands(click.Group):
    """A person's mistake becomes one line on stderr and the exit code of its kind, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MinisigError as error:
            raise Failure(error) from error
        except MemoryError as error:
            raise click.ClickException("not enough memory: make the network or the batch smaller") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minisig")
def main() -> None:
    """Deep sigmoid networks, every backward pass written by hand.

    \b
    minisig train                        eight hidden layers of sigmoids learn digits, in seconds
    minisig train --init lecun           the same network, dead from the start
    minisig theory                       the neuron that passes on the most information

    Results go to stdout, progress to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 backend unavailable,
    4 training diverged, 5 data missing or corrupt.
    """


main.add_command(train)
main.add_command(theory)
