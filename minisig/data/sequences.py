"""Parts of data sets made of tokens, time-major as the recurrent layers take them.

Sequences   independent sequences of one length; a batch is some of them, whole, from a fresh state
Text        one long text; a batch is a window of several parallel streams, the state carried over
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minisig.data.dataset import Batch, Batches, Shuffle, Shuffled
from minisig.errors import DataError

Tokens = NDArray[np.int64]

SEQUENCES_AT_A_TIME = 100  # evaluated together
STEPS_AT_A_TIME = 500


@dataclass(frozen=True)
class Sequences:
    x: Tokens  # (N, T)
    y: Tokens  # (N, T)
    recall: slice  # the steps whose labels had to be remembered
    xp: ModuleType = np  # whose arrays they are

    def batches(self, size: int, seed: int) -> Batches:
        return Shuffled(self, Shuffle(len(self.x), size, seed))

    def windows(self) -> Iterator[Batch]:
        for start in range(0, len(self.x), SEQUENCES_AT_A_TIME):
            yield self[start : start + SEQUENCES_AT_A_TIME]

    @property
    def tokens(self) -> Tokens:
        return self.x

    def head(self, n: int) -> "Sequences":
        return Sequences(self.x[:n], self.y[:n], self.recall, self.xp)

    def on(self, xp: ModuleType) -> "Sequences":
        return Sequences(xp.asarray(self.x), xp.asarray(self.y), self.recall, xp)

    def __getitem__(self, rows: Any) -> Batch:
        rows = rows if isinstance(rows, slice) else self.xp.asarray(rows)
        x, y = (self.xp.ascontiguousarray(tokens[rows].T) for tokens in (self.x, self.y))
        return Batch(x, y, recall=self.recall)


@dataclass(frozen=True)
class Text:
    """Every token is predicted once, the first one from an <eos> put before it."""

    tokens: Tokens  # (N + 1,), with that <eos>
    steps: int  # of a training window
    xp: ModuleType = np  # whose array it is

    def batches(self, size: int, seed: int) -> Batches:
        return Streams(self, size)

    def windows(self) -> Iterator[Batch]:
        x, y = self.tokens[:-1, None], self.tokens[1:, None]
        for start in range(0, len(x), STEPS_AT_A_TIME):
            window = slice(start, start + STEPS_AT_A_TIME)
            yield Batch(x[window], y[window], fresh=start == 0)

    def head(self, n: int) -> "Text":
        return Text(self.tokens[: n + 1], self.steps, self.xp)

    def on(self, xp: ModuleType) -> "Text":
        return Text(xp.asarray(self.tokens), self.steps, xp)


class Streams:
    """A text cut into `size` streams of equal length, read side by side, a window of steps at a time.

    The state is carried from window to window and starts afresh with every epoch. Tokens that do not fill a stream,
    fewer than `size`, are left out of training; an epoch's last window may be shorter than the others.
    """

    def __init__(self, text: Text, size: int) -> None:
        length = (len(text.tokens) - 1) // size
        if length < text.steps:
            raise DataError(
                f"a window of {text.steps} steps in {size} streams needs {text.steps * size} tokens, the training "
                f"text has {len(text.tokens) - 1}: use more text, a smaller batch size or a smaller data.steps"
            )
        end = length * size
        self.steps = text.steps
        self.x = text.xp.ascontiguousarray(text.tokens[:end].reshape(size, length).T)  # (length, size)
        self.y = text.xp.ascontiguousarray(text.tokens[1 : end + 1].reshape(size, length).T)
        self.per_epoch = -(-length // self.steps)

    def at(self, iteration: int) -> Batch:
        position = (iteration - 1) % self.per_epoch
        window = slice(position * self.steps, (position + 1) * self.steps)
        return Batch(self.x[window], self.y[window], fresh=position == 0)
