"""Metrics by name: how they are called, printed and compared."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    label: str
    unit: str = ""
    digits: str = ".4g"
    rising: bool = False  # more is better

    def __str__(self) -> str:
        return f"{self.label} {self.unit}".rstrip()

    def shown(self, value: float) -> str:
        """A value with its unit."""
        return f"{value:{self.digits}} {self.unit}".rstrip()


# In the order in which one of them speaks for a network: the first that it has.
METRICS = {
    "perplexity": Metric("perplexity", digits=".6g"),
    "error": Metric("error", "%", ".2f"),
    "rmse": Metric("rmse"),
    "mae": Metric("mae"),
    "r2": Metric("R²", digits=".4f", rising=True),
    "recall": Metric("recall", "%", ".1f", rising=True),
    "loss": Metric("loss", digits=".4f"),
}
PARTS = {"train": "training", "valid": "validation", "test": "test"}


def metric_of(name: str) -> Metric:
    """Of a name such as test_error or valid_rmse; one that we do not know is called as it is.

    >>> str(metric_of("valid_error")), metric_of("test_novelty").label
    ('validation error %', 'test novelty')
    """
    part, _, metric = name.partition("_")
    known = METRICS.get(metric, Metric(metric.replace("_", " ")))
    return Metric(f"{PARTS.get(part, part)} {known.label}", known.unit, known.digits, known.rising)


def headline(metrics: dict[str, float], part: str = "test") -> str:
    """The metric that speaks for these, by its full name.

    >>> headline({"test_loss": 0.3, "test_error": 4.0})
    'test_error'
    """
    return next(f"{part}_{name}" for name in METRICS if f"{part}_{name}" in metrics)
