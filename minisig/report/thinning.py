"""Fewer points than there are, for drawing: the extremes stay, and the first and the last."""

import numpy as np


def spread(count: int, most: int) -> np.ndarray:
    """At most so many of the indices 0 … count − 1, evenly, the first and the last among them.

    >>> spread(9, 3).tolist(), spread(3, 9).tolist()
    ([0, 4, 8], [0, 1, 2])
    """
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def thin(low: np.ndarray, high: np.ndarray, most: int) -> np.ndarray:
    """Indices of a curve, or of a band from low to high, that keep its least and its greatest value in every stretch.

    >>> bump = np.zeros(1000); bump[437] = 1
    >>> indices = thin(bump, bump, 20)
    >>> 437 in indices, len(indices) <= 20
    (True, True)
    """
    if len(low) <= most:
        return np.arange(len(low))
    stretches = np.array_split(np.arange(len(low)), max((most - 2) // 2, 1))
    kept = [0, len(low) - 1]
    for stretch in stretches:
        kept += [stretch[np.argmin(low[stretch])], stretch[np.argmax(high[stretch])]]
    return np.unique(kept)
