"""Who is shown how training goes: on a terminal a live display, drawn on stderr, elsewhere nobody."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minisig.cli.output import watched
from minisig.experiments.results import Job, Result
from minisig.training.observers import Observer


@contextmanager
def progress() -> Iterator[list[Observer]]:
    """The display of a run among its observers, or none where nobody looks."""
    if not watched():
        yield []
        return
    from minisig.cli.display import Display, OnDisplay

    with Display() as display:
        yield [OnDisplay(display)]


@contextmanager
def comparison_progress(
    jobs: Sequence[Job], *, watching: bool
) -> Iterator[tuple[list[Observer], Callable[[Job, Any], None]]]:
    """The observers of the run that is being made, and whom to tell of every run that is finished."""
    if not watched():
        yield [], lambda job, outcome: None
        return
    from minisig.cli.display import Display, OnDisplay

    with Display() as display:
        runs = display.add_task("runs", total=len(jobs))
        if watching:
            display.follow(jobs[0].config.iterations)

        def finished(job: Job, outcome: Any) -> None:
            display.advance(runs)
            took = f"{outcome.summary['seconds']:.0f} s" if isinstance(outcome, Result) else f"failed: {outcome}"
            display.console.print(f"{job.row}, seed {job.config.seed}: {took}", markup=False, highlight=False)

        yield [OnDisplay(display)] if watching else [], finished
