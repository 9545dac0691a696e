"""Inputs of layers: vectors, a window of them, and tokens with their labels."""

import numpy as np
import pytest

from tests.layers.sizes import B, H, N, T, V


@pytest.fixture
def x():
    return 2 * np.random.default_rng(0).standard_normal((6, 4))


@pytest.fixture
def window():
    rng = np.random.default_rng(0)
    return rng.standard_normal((T, B, N)), rng.standard_normal((T, B, H))


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(5)
    return rng.integers(0, V, (9, 4)), rng.integers(0, V, (9, 4))
