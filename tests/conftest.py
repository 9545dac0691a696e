"""Data that many tests share."""

import pytest
from hypothesis import settings

from minisig.data import Dataset, load

# The same examples every time; `pytest --hypothesis-profile default` goes looking for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="session")
def batch(digits):
    """Fifty real images and their labels."""
    return digits.train.x[:50], digits.train.y[:50]
