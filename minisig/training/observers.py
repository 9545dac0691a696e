"""Who looks on while a run is made: a display, a log of another kind, a live page.

Observers watch and never touch: with them and without a run comes to the same numbers.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from minisig.errors import UsageError
from minisig.training.records import Record, Summary

if TYPE_CHECKING:
    from minisig.training.loop import Training


class Observer:
    """What happens in a run, in this order; an observer has those methods that it wants.

    >>> import minisig as ms
    >>> class Best(ms.Observer):
    ...     def begin(self, training):
    ...         self.errors = []
    ...     def log(self, record):
    ...         if "valid_error" in record:
    ...             self.errors.append(record["valid_error"])
    >>> best = Best()
    >>> summary = ms.run(ms.configure("xor", {"iterations": 200}), observers=[best])
    >>> len(best.errors)
    2

    A plain function among the observers is called with every record: `observers=[print]`.
    """

    def begin(self, training: "Training") -> None:
        """Training begins, or goes on from a checkpoint."""

    def log(self, record: Record) -> None:
        """An iteration has been logged."""

    def save(self, training: "Training") -> None:
        """A checkpoint is about to be written: what belongs to the iterations before it must be on the disk."""

    def finish(self, summary: Summary) -> None:
        """The run has come to its end, and all its files are written."""

    def close(self) -> None:
        """Nothing more will come, however the run ended."""


Observers = Iterable[Observer | Callable[[Record], Any]]


class _Function(Observer):
    def __init__(self, function: Callable[[Record], Any]) -> None:
        self.function = function

    def log(self, record: Record) -> None:
        self.function(record)


@contextmanager
def observing(observers: Observers) -> Iterator[list[Observer]]:
    """All of them as observers, and in the end closed."""
    found: list[Observer] = []
    with ExitStack() as stack:
        for one in observers:
            if not (isinstance(one, Observer) or callable(one)):
                raise UsageError(f"observers: expected an Observer or a function of a record, got {one!r:.60}")
            found.append(one if isinstance(one, Observer) else _Function(one))
            stack.callback(found[-1].close)
        yield found
