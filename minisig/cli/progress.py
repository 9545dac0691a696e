"""The live display while training: a bar, the losses, and how large the layers' gradients are.

It is drawn on stderr, and only if that is a terminal.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from minisig.training.config import Config
from minisig.training.loop import Record


@contextmanager
def progress(config: Config) -> Iterator[Callable[[Record], None] | None]:
    """A function to show each record to, or None where nobody looks."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
        console=Console(stderr=True),
        transient=True,
    )
    valid = ""

    def watch(record: Record) -> None:
        nonlocal valid
        if "valid_error" in record:
            recalls = "valid_recall" in record
            share = f"recall {record['valid_recall']:.1f}" if recalls else f"valid {record['valid_error']:.1f}"
            valid = f"{share} % "
        norms = record["gradient_norm"].values()
        figures = f"loss {record['train_loss']:.3f} {valid}|∇| {min(norms):.0e} … {max(norms):.0e}"
        bar.update(task, completed=record["iteration"], figures=figures)

    with bar:
        task = bar.add_task(config.experiment, total=config.iterations, figures="")
        yield watch
