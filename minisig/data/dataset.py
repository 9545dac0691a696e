"""Data sets: a training, a validation and a test part, each of which can be trained on in batches and read in order.

A part is any object with

    batches(size, seed)     -> Batches, whose at(iteration) gives a training batch, known from its number alone
    windows()               -> every example once and in order, for evaluation
    head(n)                 -> the part that its first n rows make
    on(xp)                  -> the same in the arrays of another module, on a device
    tokens                  of sequences: all of them, by whose frequencies a recurrent network is initialized

`Split` below is the one for vectors; sequences.py has those for sequences and for running text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from minisig.data.prepared import Prepared
from minisig.seeds import stream

PARTS = ("train", "valid", "test")
CHUNK = 1000  # rows evaluated at a time, to bound the memory


@dataclass(frozen=True)
class Batch:
    """What a network is shown at once: vectors x (B, n) with labels (B,), or tokens x (T, B) with labels (T, B)."""

    x: Any
    labels: Any
    fresh: bool = True  # recurrent states start anew, they do not go on from the batch before
    recall: slice | None = None  # the steps whose labels had to be remembered


class Batches(Protocol):
    def at(self, iteration: int) -> Batch:
        """The training batch of this iteration, from 1."""


class Part(Protocol):
    def batches(self, size: int, seed: int) -> Batches: ...

    def windows(self) -> Iterator[Batch]: ...

    def head(self, n: int) -> "Part": ...

    def on(self, xp: ModuleType) -> "Part": ...


@dataclass(frozen=True)
class Split:
    x: NDArray[np.float32]  # (N, n), scaled to about [−1, 1]
    y: NDArray[Any]  # (N,), 0 … classes − 1, or what else the loss takes for targets, (N, C)
    xp: ModuleType = np  # whose arrays they are

    def batches(self, size: int, seed: int) -> Batches:
        return Shuffled(self, Shuffle(len(self.x), size, seed))

    def windows(self) -> Iterator[Batch]:
        for start in range(0, len(self.x), CHUNK):
            yield self[start : start + CHUNK]

    def head(self, n: int) -> "Split":
        return Split(self.x[:n], self.y[:n], self.xp)

    def on(self, xp: ModuleType) -> "Split":
        return Split(xp.asarray(self.x), xp.asarray(self.y), xp)

    def __getitem__(self, rows: Any) -> Batch:
        rows = rows if isinstance(rows, slice) else self.xp.asarray(rows)
        return Batch(self.x[rows], self.y[rows])


class Shuffle:
    """Row numbers of every batch: consecutive pieces of a shuffle that is drawn anew every epoch.

    Rows that do not fill a last batch are left out of their epoch; the next shuffle brings others to that place.
    """

    def __init__(self, n: int, size: int, seed: int) -> None:
        self.n, self.seed = n, seed
        self.size = min(size, n)
        self.per_epoch = n // self.size
        self._epoch, self._order = -1, np.empty(0, dtype=np.int64)

    def rows(self, iteration: int) -> NDArray[np.int64]:
        epoch, position = divmod(iteration - 1, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, stream(self.seed, "epoch", epoch).permutation(self.n)
        return self._order[position * self.size : (position + 1) * self.size]


@dataclass(frozen=True)
class Shuffled:
    """Batches of a part whose rows are independent examples."""

    part: Any
    shuffle: Shuffle

    @property
    def per_epoch(self) -> int:
        """How many batches show every example once."""
        return self.shuffle.per_epoch

    def at(self, iteration: int) -> Batch:
        batch: Batch = self.part[self.shuffle.rows(iteration)]
        return batch


@dataclass(frozen=True)
class Dataset:
    """Train on `train`, select on `valid`, look at `test` once."""

    name: str
    train: Any  # a Part
    valid: Any
    test: Any
    classes: int  # how many, or how many numbers a target has: the network's outputs
    image: tuple[int, int] | None = None  # height and width, where the vectors are images row by row
    baselines: dict[str, float] = field(default_factory=dict)  # perplexities to be set beside the network's
    loss: str = "softmax-cross-entropy"  # a name in LOSSES: what the targets ask for
    of_loss: Mapping[str, Any] = field(default_factory=dict)  # what that loss has to know of them for its metrics
    prepared: Prepared | None = None  # how all this was made of what was read, to be kept with the model
    content: str = ""  # the hash of the user's own data
    rows: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)  # of each part, in what was read, from 0
    about: Sequence[str] = ()  # what was read and decided, for a person

    @property
    def background(self) -> float:
        """What lies beyond the edge of an image: the least value of the training part."""
        return float(self.train.x.min())

    def on(self, xp: ModuleType) -> "Dataset":
        """The same data in the arrays of another module, on a device."""
        return self if xp is np else replace(self, **{part: getattr(self, part).on(xp) for part in PARTS})
