"""The command `minisig`, whose commands are the other files here."""

import sys
import warnings
from errno import EPIPE
from io import TextIOWrapper
from signal import SIGINT
from typing import Any

import click

from minisig import __version__
from minisig.cli.compare import compare
from minisig.cli.data import data
from minisig.cli.doctor import doctor
from minisig.cli.export import export
from minisig.cli.inspect import inspect
from minisig.cli.lessons import lessons
from minisig.cli.output import say
from minisig.cli.predict import predict
from minisig.cli.report import report
from minisig.cli.sample import sample
from minisig.cli.score import score
from minisig.cli.settings import settings
from minisig.cli.test import test
from minisig.cli.theory import theory
from minisig.cli.train import train
from minisig.cli.values import InOrder
from minisig.errors import DataChanged, Interrupted, MinisigError, OutOfMemory, UsageError


class Failure(click.ClickException):
    def __init__(self, error: MinisigError) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_code  # type: ignore[misc]


class Commands(InOrder):
    """A person's mistake becomes one line on stderr and the exit code of its kind, never a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # a terminal that knows no σ shows ? in its place
                stream.reconfigure(errors="replace")
        return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", DataChanged)
                show = warnings.showwarning
                warnings.showwarning = lambda message, category, *place: (
                    say(f"Note: {message}", err=True) if category is DataChanged else show(message, category, *place)
                )
                return super().invoke(ctx)
        except MinisigError as error:
            raise Failure(error) from error
        except OSError as error:
            if error.errno == EPIPE:  # the reader of our output has gone; click ends quietly
                raise
            raise click.ClickException(f"{error.filename or 'output'}: {error.strerror or error}") from error
        except UnicodeEncodeError as error:
            raise Failure(UsageError(f"{error.object[:60]!r} is not valid UTF-8")) from error
        except KeyboardInterrupt as error:
            raise Failure(Interrupted("stopped", SIGINT)) from error
        except MemoryError as error:
            raise Failure(OutOfMemory()) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minisig")
def main() -> None:
    """Deep sigmoid networks, every backward pass written by hand.

    \b
    minisig train                  eight hidden layers of sigmoids learn digits
    minisig train mine.csv         your own table
    minisig predict RUN new.csv    what the trained model says of new rows
    minisig test RUN more.csv      how good it is on data it has not seen
    minisig export RUN mine.onnx   the same model for onnxruntime
    minisig train mine.txt         your own text
    minisig sample RUN             what the trained model writes
    minisig score RUN other.txt    how well it knows another text
    minisig train --init lecun     the same network, dead from the start
    minisig compare digits         the paper's initializations, several seeds
    minisig inspect --init lecun   why: its gradients, layer by layer
    minisig theory                 the neuron that passes on the most information
    minisig report runs            curves, gradients, tables of all runs as HTML
    minisig settings               what can be set about an experiment
    minisig data fetch mnist       real data
    minisig lessons                seven ideas, each a script of its own
    minisig doctor                 what this machine can do

    Results go to stdout, progress to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 backend unavailable,
    4 training diverged, 5 data missing or corrupt, 130 or 143 stopped by Ctrl-C or a termination signal.
    """


main.add_command(train)
main.add_command(predict)
main.add_command(test)
main.add_command(export)
main.add_command(sample)
main.add_command(score)
main.add_command(compare)
main.add_command(inspect)
main.add_command(theory)
main.add_command(report)
main.add_command(settings)
main.add_command(data)
main.add_command(lessons)
main.add_command(doctor)
