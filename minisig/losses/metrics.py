"""The metrics of our losses: how they are written, and which end is better.

One that is not here is written with six digits, and less of it is better.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    unit: str = ""
    form: str = ".6g"
    rising: bool = False  # more is better

    def shown(self, value: float) -> str:
        return f"{value:{self.form}} {self.unit}".rstrip()


METRICS = {
    "loss": Metric(form=".4f"),
    "error": Metric("%", ".2f"),
    "recall": Metric("%", ".1f", rising=True),
    "r2": Metric(rising=True),
    "bits": Metric("per character or byte", ".4f"),
}


def metric(name: str) -> Metric:
    """What is known of a metric.

    >>> metric("error").shown(3.14159), metric("rmse").shown(3.14159)
    ('3.14 %', '3.14159')
    """
    return METRICS.get(name, Metric())
