"""A contact sheet shows the images as they are trained on."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.data import load
from minisig.data.augment import Distortion
from minisig.errors import UsageError
from minisig.experiments import configure
from minisig.report.figures import contact_sheet
from minisig.report.figures.images import SHOWN
from minisig.seeds import stream

pytest.importorskip("matplotlib")


def sheet(figure):
    """The array that is shown."""
    (image,) = figure.axes[0].images
    return np.asarray(image.get_array())


def tile(array, row, column, image, gap=2):
    height, width = image
    top, left = gap + row * (height + gap), gap + column * (width + gap)
    return array[top : top + height, left : left + width].reshape(-1)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_contact_sheet_has_every_class_as_it_is_and_as_it_is_distorted(digits, seed):
    config = configure("digits", {"data.augment.alpha": 5, "seed": seed})
    array = sheet(contact_sheet(config, digits))
    firsts = [int(np.flatnonzero(digits.train.y == label)[0]) for label in range(10)]
    distort = Distortion(config.data.augment, digits.image, digits.background, get_backend("numpy"))
    columns = [digits.train.x[firsts]] + [
        distort(digits.train.x[firsts], digits.train.y[firsts], stream(seed, "augment", i)) for i in range(1, SHOWN + 1)
    ]
    for column, images in enumerate(columns):
        for row, image in enumerate(images):
            np.testing.assert_array_equal(tile(array, row, column, digits.image), image)
    height, width = digits.image
    assert array.shape == (10 * (height + 2) + 2, (SHOWN + 1) * (width + 2) + 2)


def test_without_augmentation_there_are_originals_only(digits):
    figure = contact_sheet(configure("digits"), digits)
    assert sheet(figure).shape == (10 * 10 + 2, 10 + 2)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["original"]


def test_rows_are_labelled_by_their_class_and_columns_by_what_they_are(digits):
    axes = contact_sheet(configure("digits", {"data.augment": {}}), digits).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == [str(label) for label in range(10)]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["original", "as trained on"]


def test_data_that_are_no_images_are_not_drawn():
    with pytest.raises(UsageError, match="xor are not images"):
        contact_sheet(configure("xor"), load("xor"))
