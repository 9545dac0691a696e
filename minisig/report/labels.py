"""What metrics are called where people read them; one that is not known is called by its own name."""

from minisig.losses.metrics import metric

PARTS = {"train": "training", "valid": "validation"}  # of the data


def split(name: str) -> tuple[str, str]:
    """The part of the data, and what is measured: test_error is the error on the test part."""
    part, _, measured = name.partition("_")
    return part, measured


def in_percent(name: str) -> bool:
    return metric(split(name)[1]).unit == "%"


def unit(measured: str) -> str:
    return f"{measured} {metric(measured).unit}".rstrip()


def label(name: str) -> str:
    """For people, with its unit.

    >>> label("test_error"), label("valid_loss"), label("test_rmse")
    ('test error %', 'validation loss', 'test rmse')
    """
    part, measured = split(name)
    return f"{PARTS.get(part, part)} {unit(measured)}"
