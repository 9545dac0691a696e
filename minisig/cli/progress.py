"""Who is shown how training goes: on a terminal a live display, drawn on stderr, elsewhere nobody."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minisig.cli.output import watched
from minisig.experiments.results import Job, Result
from minisig.training.config import Config
from minisig.training.run import Watch


@contextmanager
def progress(config: Config, iterations: int | None = None) -> Iterator[Watch | None]:
    """A function to show each record to, or None where nobody looks."""
    if not watched():
        yield None
        return
    from minisig.cli.display import Display

    with Display() as display:
        display.follow(iterations or config.iterations)
        yield display.show


@contextmanager
def comparison_progress(
    jobs: Sequence[Job], *, watching: bool
) -> Iterator[tuple[Watch | None, Callable[[Job, Any], None]]]:
    """What to show the records of the run that is being made, and every run that is finished."""
    if not watched():
        yield None, lambda job, outcome: None
        return
    from minisig.cli.display import Display

    with Display() as display:
        runs = display.add_task("runs", total=len(jobs))
        if watching:
            display.follow(jobs[0].config.iterations)

        def finished(job: Job, outcome: Any) -> None:
            display.advance(runs)
            display.begin_again()
            took = f"{outcome.summary['seconds']:.0f} s" if isinstance(outcome, Result) else f"failed: {outcome}"
            display.console.print(f"{job.row}, seed {job.config.seed}: {took}", markup=False, highlight=False)

        yield display.show if watching else None, finished
