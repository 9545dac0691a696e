"""Numbers for JSON, which knows neither infinity nor NaN, nor NumPy's."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np


def jsonable(value: Any) -> Any:
    """The same in Python's own numbers, with None for every one that is not finite.

    >>> jsonable({"entropy": float("-inf"), "norms": [np.float32(1), float("nan")]})
    {'entropy': None, 'norms': [1.0, None]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    return value
