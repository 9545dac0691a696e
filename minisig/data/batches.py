"""Minibatches, shuffled anew every epoch, each known from its iteration number alone."""

import numpy as np
from numpy.typing import NDArray

from minisig.data.dataset import Split
from minisig.seeds import stream


class Batches:
    """Batch `iteration` (from 1) of a split: consecutive rows of that epoch's shuffle.

    Rows that do not fill a last batch are left out of their epoch; the next shuffle brings others to that place.
    """

    def __init__(self, split: Split, size: int, seed: int) -> None:
        self.split, self.seed = split, seed
        self.size = min(size, len(split.x))
        self.per_epoch = len(split.x) // self.size
        self._epoch, self._order = -1, np.empty(0, dtype=np.int64)

    def at(self, iteration: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Inputs (B, n) and labels (B,)."""
        epoch, position = divmod(iteration - 1, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, stream(self.seed, "epoch", epoch).permutation(len(self.split.x))
        rows = self._order[position * self.size : (position + 1) * self.size]
        return self.split.x[rows], self.split.y[rows]
