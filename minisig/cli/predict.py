"""minisig predict: the answers of a trained model, row by row.

Names of classes are written as the training data have them, one such as =1+1 too: a CSV is data, and whoever opens it
in a program that calculates must tell that program so. A terminal alone is shown them with its commands spelt out.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from minisig.cli.options import as_json
from minisig.cli.output import say
from minisig.cli.values import in_a_folder, not_empty
from minisig.errors import printable


@click.command(short_help="What a trained model says of new rows.")
@click.argument("model", type=click.Path(), callback=not_empty)
@click.argument("file", type=click.Path(allow_dash=True), callback=not_empty, default="-")
@click.option("--proba", is_flag=True, help="The probability of every class as well, in columns p(CLASS).")
@click.option("--out", type=click.Path(dir_okay=False), callback=in_a_folder, help="File to write.  [default: stdout]")
@click.option("--backend", help="numpy, or cupy for a GPU.  [default: that of training]")
@as_json
def predict(model: str, file: str, proba: bool, out: str | None, backend: str | None, json_: bool) -> None:
    """Predict with MODEL, a run's folder or its best.safetensors, for every row of FILE (- for standard input).

    FILE is a table: .csv, .tsv or .parquet, .gz or not, of any size. Its columns
    are found by their names, in any order; others are not looked at, the
    target among them. One line comes out for every row: `prediction`.

    \b
    minisig predict runs/iris-random+ep-seed0 new.csv
    minisig predict best.safetensors new.csv --proba --out answers.csv
    cat new.csv | minisig predict best.safetensors - | tail -n +2
    """
    from minisig.data.cells import shown
    from minisig.data.prepared import Noticed
    from minisig.trained.model import load

    loaded = load(model, backend)
    loaded.require_rows()
    if proba and loaded.task == "regression":
        named = ", ".join(map(shown, loaded.targets[:5]))
        raise click.UsageError(f"the model predicts numbers ({named}): there are no probabilities.")
    noticed = Noticed()
    pieces = pieces_of(file, loaded)
    if json_:
        _as_object(loaded, pieces, noticed, out)
    else:
        with _output(out) as output:
            _as_table(loaded, pieces, noticed, proba, output)
    for line in noticed.lines():
        say(line, err=True)


def _as_table(model: Any, pieces: Iterator[Any], noticed: Any, proba: bool, output: IO[str]) -> None:
    writer = csv.writer(output, lineterminator="\n")
    several = len(model.targets) > 1
    head = [f"prediction({name})" for name in model.targets] if several else ["prediction"]
    if proba:
        labels = (
            model.classes
            if model.task == "classification"
            else [f"{name}={label}" for name, label in zip(model.targets, model.classes[1::2], strict=True)]
        )
        head += [f"p({label})" for label in labels]
    for columns in pieces:
        z = model.logits(model.encode(columns, noticed))
        answers = model.answers(z).reshape(len(z), len(model.targets)).tolist()
        if head:  # not before something is known to follow: an error has stdout to itself
            writer.writerow(head)
            head = []
        rows = zip(answers, model.probabilities(z).tolist(), strict=True) if proba else ((one, []) for one in answers)
        writer.writerows([*answer, *chances] for answer, chances in rows)
    if head:
        writer.writerow(head)


def _as_object(model: Any, pieces: Iterator[Any], noticed: Any, out: str | None) -> None:
    predictions: list[Any] = []
    chances: list[Any] = []
    for columns in pieces:
        z = model.logits(model.encode(columns, noticed))
        predictions += model.answers(z).tolist()
        if model.task != "regression":
            chances += model.probabilities(z).tolist()
    found: dict[str, Any] = {"predictions": predictions}
    if model.classes is not None:
        found |= {"classes": model.classes, "probabilities": chances}
    with _output(out) as output:
        output.write(json.dumps(found) + "\n")


class Harmless(io.TextIOBase):
    """A terminal, which names of classes must not reach as commands to it; in a file or a pipe they are data."""

    def __init__(self, terminal: IO[str]) -> None:
        self.terminal = terminal

    def write(self, text: str) -> int:
        return self.terminal.write(printable(text))


@contextmanager
def _output(out: str | None) -> Iterator[Any]:
    """Standard output, or a file that appears whole or not at all."""
    from minisig.errors import writing
    from minisig.training.files import in_place_of

    if out is None:
        yield Harmless(sys.stdout) if sys.stdout.isatty() else sys.stdout
        sys.stdout.flush()
        return
    path = Path(out)
    with writing(path):
        if path.exists() and not path.is_file():  # a device or a pipe
            with path.open("w", encoding="utf-8", newline="") as file:
                yield file
            return
        with in_place_of(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            yield file


def pieces_of(file: str, model: Any, *, targets: bool = False) -> Iterator[Any]:
    """The table in a file, or in what comes from standard input, in pieces that are predicted together."""
    from minisig.data.dataset import CHUNK
    from minisig.data.frame import table_pieces

    names = [*model.columns, *(model.targets if targets else [])]
    return table_pieces(None if file == "-" else Path(file), names, CHUNK, model.words)
