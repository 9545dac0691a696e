"""What metrics are called where people read them; one that is not here is called by its own name."""

PARTS = {"train": "training", "valid": "validation"}  # of the data
PERCENT = ("error", "recall")


def split(metric: str) -> tuple[str, str]:
    """The part of the data, and what is measured: test_error is the error on the test part."""
    part, _, name = metric.partition("_")
    return part, name


def in_percent(metric: str) -> bool:
    return split(metric)[1] in PERCENT


def unit(name: str) -> str:
    return f"{name} %" if name in PERCENT else name


def label(metric: str) -> str:
    """For people, with its unit.

    >>> label("test_error"), label("valid_loss"), label("test_rmse")
    ('test error %', 'validation loss', 'test rmse')
    """
    part, name = split(metric)
    return f"{PARTS.get(part, part)} {unit(name)}"
