"""Numbers for JSON, which knows neither infinity nor NaN."""

from collections.abc import Mapping
from math import isfinite
from typing import Any


def jsonable(value: Any) -> Any:
    """The same with None for every float that is not finite.

    >>> jsonable({"entropy": float("-inf"), "norms": [1.0, float("nan")]})
    {'entropy': None, 'norms': [1.0, None]}
    """
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    return value
