"""How the inputs of the user's own files are scaled."""

import numpy as np
import pytest

from minisig.data import load_file
from tests.data.tables import N, X, Y, changed


def test_pixels_of_uint8_images_are_flattened_and_scaled_from_255(npz):
    images = np.random.default_rng(0).integers(0, 256, (N, 8, 8), dtype=np.uint8)
    images[0, 0, :2] = 0, 255
    data = load_file(npz(x_train=images, y_train=Y, x_valid=images, y_valid=Y, x_test=images, y_test=Y))
    assert data.train.x.shape == (N, 64)
    np.testing.assert_allclose(data.test.x, images.reshape(N, 64) / 127.5 - 1, atol=1e-6)
    assert (data.train.x.min(), data.train.x.max()) == (-1, 1)


def test_dark_uint8_images_are_scaled_from_255_too(npz):
    data = load_file(npz(x_train=np.full((N, 4), 51, np.uint8), y_train=Y))
    np.testing.assert_allclose(data.train.x, -0.6, atol=1e-6)


def test_inputs_within_minus_one_and_one_are_taken_as_they_are(npz):
    x = changed(X / 2, (0, 0), 1.0)
    data = load_file(npz(x_train=x, y_train=Y, x_valid=x, y_valid=Y, x_test=3 * x, y_test=Y))
    np.testing.assert_array_equal(data.train.x, x.astype(np.float32))
    np.testing.assert_array_equal(data.test.x, (3 * x).astype(np.float32))


def test_other_inputs_have_every_column_mapped_to_the_full_range(npz):
    data = load_file(npz(x_train=X * [1, 100, 0.01] + [0, 7, 1], y_train=Y, x_valid=X, y_valid=Y, x_test=X, y_test=Y))
    np.testing.assert_allclose(data.train.x.min(axis=0), -1, atol=1e-6)
    np.testing.assert_allclose(data.train.x.max(axis=0), 1, atol=1e-6)


@pytest.mark.parametrize("beyond", [1.001, -1.001])
def test_a_single_value_beyond_one_has_every_column_mapped(npz, beyond):
    x = changed(X / 2, (0, 0), beyond)
    data = load_file(npz(x_train=x, y_train=Y, x_valid=x, y_valid=Y, x_test=x, y_test=Y))
    np.testing.assert_allclose(data.train.x.max(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(data.train.x.min(axis=0), -1, atol=1e-6)


def test_the_training_part_alone_decides_the_scale(npz):
    x = np.array([[0.0], [10.0]] * (N // 2))
    data = load_file(npz(x_train=x, y_train=Y, x_valid=x + 5, y_valid=Y, x_test=x - 10, y_test=Y))
    assert [sorted(set(split.x.ravel())) for split in (data.train, data.valid, data.test)] == [
        [-1, 1],
        [0, 2],
        [-3, -1],
    ]


def test_held_out_rows_do_not_touch_the_scale(npz):
    x = np.linspace(0, 10, N)[:, None]
    data = load_file(npz(x_train=x, y_train=Y))
    assert (data.train.x.min(), data.train.x.max()) == (-1, 1)
    assert len(data.train.x) == 32


def test_a_constant_column_becomes_zero(npz):
    x = np.column_stack([np.full(N, 7.0), 10 * X[:, 0]])
    data = load_file(npz(x_train=x, y_train=Y))
    assert not data.train.x[:, 0].any()
    assert np.isfinite(data.test.x).all()


@pytest.mark.parametrize(
    "x", [np.array([[-1.7e308], [1.7e308]] * 20), np.array([[0, 0], [5e-324, 9]] * 20)], ids=["vast", "subnormal"]
)
def test_extreme_ranges_are_scaled_to_their_ends(npz, x):
    data = load_file(npz(x_train=x, y_train=Y))
    for column in data.train.x.T:
        assert set(np.unique(column)) <= {-1.0, 1.0, 0.0}
    assert set(np.unique(data.train.x[:, -1])) == {-1.0, 1.0}
