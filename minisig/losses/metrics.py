"""The metrics of our losses: their unit, and which end is better.

One that is not here has no unit, and less of it is better.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    unit: str = ""
    rising: bool = False  # more is better


METRICS = {
    "error": Metric(unit="%"),
    "recall": Metric(unit="%", rising=True),
    "r2": Metric(rising=True),
}


def metric(name: str) -> Metric:
    """What is known of a metric.

    >>> metric("recall").rising, metric("rmse").rising
    (True, False)
    """
    return METRICS.get(name, Metric())
