"""Data that many tests share."""

import pytest

from minisig.data import Dataset, load


@pytest.fixture(scope="session")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="session")
def batch(digits):
    """Fifty real images and their labels."""
    return digits.train.x[:50], digits.train.y[:50]
