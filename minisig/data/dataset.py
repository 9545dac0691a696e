"""A data set for classification: inputs and labels, in a training, a validation and a test part."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Split:
    x: NDArray[np.float32]  # (N, n), scaled to about [−1, 1]
    y: NDArray[np.int64]  # (N,), 0 … classes − 1


@dataclass(frozen=True)
class Dataset:
    """Train on `train`, select on `valid`, look at `test` once."""

    name: str
    train: Split
    valid: Split
    test: Split
    classes: int
