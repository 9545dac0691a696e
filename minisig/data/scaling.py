"""Inputs brought into [−1, 1]: pixels by what a byte can be, other numbers by what the training part shows."""

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np


def scaled_pixels(pixels: Any) -> Any:
    """Bytes 0 … 255 as numbers in [−1, 1]."""
    x = pixels.astype(np.float32)
    x /= 127.5
    x -= 1
    return x


@dataclass(frozen=True)
class Scaling:
    """v ↦ (v − centre) / half, column by column, from the least and the greatest training value to −1 and 1."""

    centre: Any  # (n,)
    half: Any  # (n,)

    @classmethod
    def of(cls, x: Any) -> Optional["Scaling"]:
        """What x (N, n) needs, None if it lies in [−1, 1] already; a constant column becomes 0."""
        low, high = x.min(axis=0).astype(np.float64), x.max(axis=0).astype(np.float64)
        if low.min() >= -1 and high.max() <= 1:
            return None
        return cls(low / 2 + high / 2, np.where(high / 2 > low / 2, high / 2 - low / 2, 1.0))

    def __call__(self, x: Any) -> Any:
        return (x - self.centre) / self.half
