"""Bilinear interpolation against scipy's, which works position by position."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import map_coordinates

from minisig.backends import get_backend

SHAPES = [(28, 28), (5, 9), (9, 5), (1, 7), (7, 1), (1, 1)]
OUTSIDE = -1.0


@pytest.fixture(params=["float32", "float64"])
def backend(request):
    return get_backend("numpy", request.param)


def bilinear(backend, images, rows, columns, outside=OUTSIDE):
    """The backend's, at rows and columns (B, h′, w′) in the layout it takes."""
    at = np.ascontiguousarray(np.stack([rows, columns]).transpose(0, 2, 1, 3))
    return backend.bilinear(images, at, outside)


def slow(images, rows, columns, outside=OUTSIDE):
    exact = (a.astype(np.float64) for a in (images, rows, columns))
    return np.array(
        [
            map_coordinates(x, [r, c], order=1, mode="grid-constant", cval=outside)
            for x, r, c in zip(*exact, strict=True)
        ]
    )


def drawn(backend, shape, new=(6, 4), B=3, beyond=3.0, seed=0):
    """B images in [−1, 1] and positions inside and around them."""
    rng = np.random.default_rng(seed)
    images = rng.uniform(-1, 1, (B, *shape))
    places = (rng.uniform(-beyond, n - 1 + beyond, (B, *new)) for n in shape)
    return [a.astype(backend.dtype) for a in (images, *places)]


@pytest.mark.parametrize("B", [1, 2, 25, 26])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_position_shows_what_scipy_shows_there(backend, shape, B):
    images, rows, columns = drawn(backend, shape, B=B, seed=B)
    found = bilinear(backend, images, rows, columns)
    assert found.dtype == backend.dtype
    # Values of at most 1, their differences of at most 4, and a dozen operations.
    np.testing.assert_allclose(found, slow(images, rows, columns), rtol=0, atol=16 * np.finfo(backend.dtype).eps)


@pytest.mark.parametrize("new", [(1, 1), (3, 11), (11, 3)])
def test_the_new_image_may_have_another_shape(backend, new):
    images, rows, columns = drawn(backend, (5, 9), new)
    found = bilinear(backend, images, rows, columns)
    assert found.shape == (3, *new)
    np.testing.assert_allclose(found, slow(images, rows, columns), rtol=0, atol=16 * np.finfo(backend.dtype).eps)


@pytest.mark.parametrize("shape", SHAPES)
def test_whole_positions_show_the_pixels_themselves_and_the_background_around_them(backend, shape):
    images = drawn(backend, shape)[0]
    framed = np.pad(images, ((0, 0), (4, 4), (4, 4)), constant_values=0.3)
    rows, columns = (np.tile(a - 4.0, (3, 1, 1)).astype(backend.dtype) for a in np.indices(framed.shape[1:]))
    np.testing.assert_array_equal(bilinear(backend, images, rows, columns, outside=0.3), framed)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("far", [1.0, 1.5, 1e3, 1e30, np.inf])
def test_far_away_there_is_nothing_but_background(backend, shape, far):
    """Where at least one of row and column is a pixel or more beyond the edge."""
    images = drawn(backend, shape)[0]
    inside, before, behind = [(n - 1) / 2 for n in shape], [-far] * 2, [n - 1 + far for n in shape]
    places = [(a[0], b[1]) for a in (inside, before, behind) for b in (inside, before, behind)][1:]
    rows, columns = (np.tile(np.array(c, dtype=backend.dtype), (3, 2, 1)) for c in zip(*places, strict=True))
    assert (bilinear(backend, images, rows, columns, outside=0.3) == backend.dtype.type(0.3)).all()


@given(data=st.data(), shape=st.tuples(st.integers(1, 6), st.integers(1, 6)), dtype=st.sampled_from(["f4", "f8"]))
def test_no_value_lies_outside_those_of_the_image_and_the_background(data, shape, dtype):
    width = 8 * np.dtype(dtype).itemsize
    images = data.draw(arrays(dtype, (2, *shape), elements=st.floats(-100, 100, width=width)))
    places = st.floats(-8, 14, width=width) | st.integers(-3, 8).map(float) | st.sampled_from([-1e30, 1e30])
    rows, columns = data.draw(arrays(dtype, (2, 2, 3, 4), elements=places))
    outside = data.draw(st.floats(-100, 100, width=width))
    backend = get_backend("numpy", np.dtype(dtype).name)
    found = bilinear(backend, images, rows, columns, outside)
    rounding = 16 * np.finfo(dtype).eps * max(np.abs(images).max(), abs(outside))
    for image, new in zip(images, found, strict=True):
        assert min(image.min(), outside) - rounding <= new.min()
        assert new.max() <= max(image.max(), outside) + rounding
    np.testing.assert_allclose(found, slow(images, rows, columns, outside), rtol=0, atol=2 * rounding)


def test_an_image_shows_the_same_bits_alone_and_among_others(backend):
    images, rows, columns = drawn(backend, (5, 9), B=7)
    together = bilinear(backend, images, rows, columns)
    for b in range(7):
        one = slice(b, b + 1)
        np.testing.assert_array_equal(bilinear(backend, images[one], rows[one], columns[one]), together[one])


def test_the_images_are_left_as_they_were(backend):
    images, rows, columns = drawn(backend, (5, 9))
    before = images.copy()
    bilinear(backend, images, rows, columns)
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize("shape", [(1, 600), (600, 1)])
def test_a_long_and_narrow_image_takes_memory_for_its_own_pixels_only(backend, shape):
    images, rows, columns = drawn(backend, shape, shape, B=25)
    tracemalloc.start()
    bilinear(backend, images, rows, columns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * images.nbytes  # a dozen arrays of as many positions or, with their margin, pixels
