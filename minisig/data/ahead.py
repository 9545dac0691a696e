"""Batches prepared beside training: while the network works on one, a thread makes the next.

A batch is a function of its iteration alone, so it is the same whoever makes it, and when. SciPy's BLAS keeps the
interpreter to itself, so the thread works between the network's products, and in those of its own.
"""

from concurrent.futures import Future, ThreadPoolExecutor

from minisig.data.dataset import Batch, Batches


class Ahead:
    """The same batches, the one after the last that was asked for already under way."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        # One thread, so that whatever `batches` remembers from call to call has one user.
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="minisig-batches")
        self.coming: tuple[int, Future[Batch]] | None = None

    def at(self, iteration: int) -> Batch:
        if self.coming is None or self.coming[0] != iteration:
            self.coming = self._start(iteration)
        batch = self.coming[1].result()
        self.coming = self._start(iteration + 1)
        return batch

    def _start(self, iteration: int) -> tuple[int, Future[Batch]]:
        return iteration, self.worker.submit(self.batches.at, iteration)
