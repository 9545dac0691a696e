"""Arrays for both backends, and what it means that those of the device are right."""

import cupy
import numpy as np
import pytest


def draw(dtype, *shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def on_device(*arrays):
    """Copies, which may be overwritten."""
    copies = tuple(cupy.asarray(a) for a in arrays)
    return copies if len(copies) > 1 else copies[0]


def close(found, expected, dtype, terms=1, scale=1.0):
    """Up to the rounding of sums of so many terms of this size, in different orders."""
    assert isinstance(found, cupy.ndarray)
    assert found.dtype == dtype
    atol = 8 * np.sqrt(terms) * np.finfo(dtype).eps * scale
    np.testing.assert_allclose(cupy.asnumpy(found), expected, rtol=20 * np.finfo(dtype).eps, atol=atol)


def scalar(found, expected, dtype, terms=1, least=0.0):
    assert isinstance(found, cupy.ndarray)
    assert found.shape == ()
    assert float(found) == pytest.approx(float(expected), rel=8 * np.sqrt(terms) * np.finfo(dtype).eps, abs=least)
