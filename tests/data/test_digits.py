"""The embedded digits are all of scikit-learn's, once each."""

import numpy as np
import pytest

from minisig.data import DataConfig, Split, load
from minisig.data.digits import load_digits
from minisig.errors import UsageError
from tests.data.tables import PARTS, labelled_rows, parts


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def test_there_are_1797_images_of_64_pixels_in_three_parts(digits):
    shapes = [split.x.shape for split in parts(digits)]
    assert dict(zip(PARTS, shapes, strict=True)) == {"train": (1197, 64), "valid": (300, 64), "test": (300, 64)}
    assert all(split.x.dtype == np.float32 and split.y.dtype == np.int64 for split in parts(digits))


def test_pixels_fill_the_range_from_minus_one_to_one(digits):
    for split in parts(digits):
        assert (split.x.min(), split.x.max()) == (-1, 1)


def test_pixels_are_the_seventeen_grey_levels(digits):
    levels = (digits.train.x + 1) * 8
    np.testing.assert_array_equal(np.unique(levels), np.arange(17))


def test_every_part_has_all_ten_classes_in_fair_shares(digits):
    assert digits.classes == 10
    for split in parts(digits):
        counts = np.bincount(split.y, minlength=10)
        assert len(counts) == 10
        assert counts.min() > len(split.y) / 10 - 4 * np.sqrt(len(split.y) * 0.1 * 0.9)


def test_no_image_is_in_two_parts(digits):
    train, valid, test = ({row.tobytes() for row in split.x} for split in parts(digits))
    assert not train & valid
    assert not train & test
    assert not valid & test


def test_the_parts_together_are_the_digits_of_scikit_learn(digits):
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = datasets.load_digits(return_X_y=True)
    assert labelled_rows(*parts(digits)) == labelled_rows(Split(x / 8 - 1, y))


def test_every_seed_sees_the_same_parts(digits):
    other = load("digits", seed=7)
    for ours, theirs in zip(parts(digits), parts(other), strict=True):
        np.testing.assert_array_equal(ours.x, theirs.x)
        np.testing.assert_array_equal(ours.y, theirs.y)


def test_a_validation_part_that_is_not_held_out_is_trained_on_too(digits):
    whole = load(DataConfig(source="digits", hold_out=False))
    assert labelled_rows(whole.train) == labelled_rows(digits.train, digits.valid)
    assert labelled_rows(whole.test) == labelled_rows(digits.test)


def test_sequences_are_always_held_out():
    with pytest.raises(UsageError, match=r"sequences: data\.hold_out=false is for vectors"):
        load(DataConfig(source="copy-memory", hold_out=False))
