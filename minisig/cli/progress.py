"""The live display while training: a bar, the losses, and how large the layers' gradients are; for a comparison also
how many of its runs are done.

It is drawn on stderr, and only if that is a terminal.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minisig.experiments.compare import Job, Result
from minisig.training.config import Config
from minisig.training.loop import Record


@contextmanager
def progress(config: Config, iterations: int | None = None) -> Iterator[Callable[[Record], None] | None]:
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
        task = bar.add_task(config.experiment, total=iterations or config.iterations, figures="")
        yield watch


@contextmanager
def comparison_progress(
    jobs: Sequence[Job], *, watching: bool
) -> Iterator[tuple[Callable[[Record], None] | None, Callable[[Job, Any], None]]]:
    """What to show the records of the run that is being made, and every run that is finished."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None, lambda job, outcome: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(bar_width=12), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bars:
        runs = bars.add_task("runs", total=len(jobs))
        iterations = bars.add_task("iterations", total=jobs[0].config.iterations, visible=watching)

        def watch(record: Record) -> None:
            bars.update(iterations, completed=record["iteration"], description=f"loss {record['train_loss']:.3f}")

        def finished(job: Job, outcome: Any) -> None:
            bars.advance(runs)
            bars.update(iterations, completed=0)
            took = f"{outcome.summary['seconds']:.0f} s" if isinstance(outcome, Result) else f"failed: {outcome}"
            bars.console.print(f"{job.row}, seed {job.config.seed}: {took}", markup=False, highlight=False)

        yield watch if watching else None, finished
