"""Which classes are taken for which: confusion matrix, precision and recall."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def confused(truth: NDArray[Any], answers: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """How often each class (row) was given each answer (column).

    >>> confused(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    pairs = truth.astype(np.int64) * classes + answers
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def per_class(counts: NDArray[np.int64], names: Sequence[Any]) -> list[dict[str, Any]]:
    """Of each class its rows, the share of them that was found, and the share of such answers that were right."""
    right, truth, answers = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    return [
        {
            "class": name,
            "rows": int(truth[i]),
            "precision": float(right[i] / answers[i]) if answers[i] else None,
            "recall": float(right[i] / truth[i]) if truth[i] else None,
        }
        for i, name in enumerate(names)
    ]
