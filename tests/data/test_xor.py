"""The XOR points: four Gaussians, opposite corners one class."""

from math import sqrt

import numpy as np
import pytest
from scipy.stats import binom, norm

from minisig.data.xor import DEVIATION, make_xor

SIZES = {"train": 200, "valid": 200, "test": 1000}
CORNERS = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
CROSSING = norm.sf(1 / DEVIATION)  # the chance that a coordinate lies beyond the border
BAYES = 2 * CROSSING * (1 - CROSSING)  # … of one of the two, but not of both


def nearest_corner(x):
    """At standard deviation 0.3 a corner is 3.3 of them from the border, so that nearly every point shows its own."""
    return np.where(x > 0, 1, -1)


@pytest.mark.parametrize(("part", "size"), SIZES.items())
def test_each_part_has_its_size_and_two_equal_classes(part, size):
    split = getattr(make_xor(0), part)
    assert split.x.shape == (size, 2)
    assert split.x.dtype == np.float32
    assert np.bincount(split.y).tolist() == [size // 2, size // 2]


@pytest.mark.parametrize("seed", range(5))
def test_fifty_training_points_belong_to_each_corner(seed):
    train = make_xor(seed).train
    corners = nearest_corner(train.x)
    stray = int((train.y != (corners[:, 0] != corners[:, 1])).sum())
    assert stray <= binom.isf(1e-4, 200, BAYES)
    for corner in CORNERS:
        assert abs(int((corners == corner).all(axis=1).sum()) - 50) <= stray


@pytest.mark.parametrize("seed", range(5))
def test_the_class_is_the_parity_of_the_corner(seed):
    test = make_xor(seed).test
    corners = nearest_corner(test.x)
    odd = corners[:, 0] != corners[:, 1]
    wrong = (test.y != odd).mean()
    assert wrong < BAYES + 5 * sqrt(BAYES / len(test.y))


@pytest.mark.parametrize("corner", CORNERS)
def test_a_corner_has_its_mean_and_deviation(corner):
    """Over 30 seeds of 250 test points: 7,500 points, of which one in 1,200 is taken for a neighbour's."""
    points = np.concatenate([make_xor(seed).test.x for seed in range(30)]).astype(np.float64)
    own = points[(nearest_corner(points) == corner).all(axis=1)]
    n = len(own)
    assert abs(n - 7500) < 5 * sqrt(4 * 7500 * CROSSING)  # two borders, which are crossed both ways
    np.testing.assert_allclose(own.mean(axis=0), corner, atol=5 * DEVIATION / sqrt(n))
    # Points beyond the border count for the neighbour, which moves the standard deviation by less than 0.5 %.
    np.testing.assert_allclose(own.std(axis=0), DEVIATION, atol=5 * DEVIATION / sqrt(2 * n) + 0.005 * DEVIATION)


def test_the_deviation_is_three_tenths_within_two_percent():
    """60,000 coordinates over 30 seeds."""
    noise = np.concatenate([make_xor(seed).test.x - nearest_corner(make_xor(seed).test.x) for seed in range(30)])
    assert abs(noise.std(dtype=np.float64) - 0.3) < 5 * 0.3 / sqrt(2 * noise.size) + 0.005 * 0.3


def test_the_coordinates_of_a_point_are_independent():
    points = np.concatenate([make_xor(seed).test.x for seed in range(30)]).astype(np.float64)
    noise = points - nearest_corner(points)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 5 / sqrt(len(points))


def test_the_order_of_the_points_does_not_tell_the_class():
    y = np.concatenate([make_xor(seed).train.y for seed in range(30)])
    agreements = (y[1:] == y[:-1]).mean()
    assert abs(agreements - 0.5) < 5 * 0.5 / sqrt(len(y))


def test_the_same_seed_gives_the_same_points():
    a, b = make_xor(3), make_xor(3)
    for part in SIZES:
        np.testing.assert_array_equal(getattr(a, part).x, getattr(b, part).x)
        np.testing.assert_array_equal(getattr(a, part).y, getattr(b, part).y)


def test_another_seed_gives_other_points():
    a, b = make_xor(3), make_xor(4)
    for part in SIZES:
        assert (getattr(a, part).x != getattr(b, part).x).mean() > 0.99


def test_no_point_comes_twice():
    data = make_xor(0)
    points = {row.tobytes() for split in (data.train, data.valid, data.test) for row in split.x}
    assert len(points) == sum(SIZES.values())
