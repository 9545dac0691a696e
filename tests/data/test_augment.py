"""Distorted images: against a slow and plain reference, their statistics, and known from seed and iteration alone."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, gaussian_filter1d, map_coordinates
from scipy.stats import chisquare, kstest

from minisig.backends.numpy import NumpyBackend
from minisig.data import Batch
from minisig.data.augment import Distorted, Distortion
from minisig.data.config import Augment
from minisig.seeds import stream
from tests.data.distortions import NOTHING, WILD, distortion, images

SHAPES = [(28, 28), (8, 8), (5, 9), (9, 5), (1, 7)]


def fields(noise, width):
    """The noise as (B, 2, height, width), uniform in ±1."""
    return noise[..., :width].transpose(2, 0, 1, 3) / 127.5 - 1


def slow(config, shape, x, noise, A):
    """The module's formula, image by image in float64."""
    p, c = np.indices(shape, dtype=np.float64), np.array([(n - 1) / 2 for n in shape])[:, None, None]
    distorted = []
    for image, (rows, columns), a in zip(x, fields(noise, shape[1]), A.transpose(2, 0, 1), strict=True):
        u = [config.alpha * gaussian_filter(component, config.sigma, mode="constant") for component in (rows, columns)]
        at = c + np.einsum("ij,jyx->iyx", a, p - c) + u
        old = image.astype(np.float64).reshape(shape)
        distorted.append(map_coordinates(old, at, order=1, mode="grid-constant", cval=-1).ravel())
    return np.array(distorted)


def check(shape, dtype, B, seed, **config):
    distort = distortion(shape, dtype, **config)
    x, labels = images(shape, B, seed)
    x = x.astype(dtype)
    drawn = distort.draw(labels, np.random.default_rng(seed))
    found = distort.apply(x, *drawn)
    assert (found.shape, found.dtype) == (x.shape, np.dtype(dtype))
    # A position is a sum of averaged noise times alpha and of coordinates times A, rounded to eps of the largest of
    # them; an image of values in ±1 changes by 2 a pixel at most, in height and in width.
    rounding = np.finfo(dtype).eps * (distort.config.alpha + np.abs(drawn[1]).max() * sum(shape))
    np.testing.assert_allclose(found, slow(distort.config, shape, x, *drawn), rtol=0, atol=4 * rounding)
    return found, x


# The same numbers as the slow reference


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("B", [1, 24, 25, 26, 50])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_is_distorted_as_image_by_image(shape, B, dtype):
    found, x = check(shape, dtype, B, seed=B)
    assert (found != x).any(axis=1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "config",
    [
        {"sigma": 1.5, "scaling": 0.5},
        {"sigma": 60.0, "narrow": (0, 2, 9)},
        NOTHING | {"alpha": 5.0},
        NOTHING | {"alpha": 1000.0, "sigma": 0.1},
        WILD,
    ],
    ids=["rough", "broad", "elastic alone", "far outside", "wild"],
)
def test_other_settings_are_obeyed_as_well(config, seed, dtype):
    found, _ = check((9, 12), dtype, 26, seed, **config)
    if config is WILD:
        assert 0.5 < (found == -1).mean() < 0.99  # most positions are outside


def test_double_precision_agrees_to_ten_digits():
    distort = distortion((28, 28), "float64")
    x, labels = images((28, 28), 50)
    drawn = distort.draw(labels, np.random.default_rng(0))
    np.testing.assert_allclose(distort.apply(x, *drawn), slow(distort.config, (28, 28), x, *drawn), rtol=0, atol=1e-10)


# Known turns and stretches


class Draws:
    """In place of a generator: these shares of the greatest angle and stretch, and zeros for noise."""

    def __init__(self, angle=0.0, stretch=(0.0, 0.0)):
        self.angle, self.stretch = angle, stretch

    @property
    def bit_generator(self):
        return self

    def random_raw(self, n):
        return np.zeros(n, dtype=np.uint64)

    def uniform(self, low, high, size):
        assert (low, high) == (-1, 1)
        return np.broadcast_to(np.array([self.angle, *self.stretch])[:, None], size)


def blob(shape, centre, deviation=1.0):
    y, x = (axis - c for axis, c in zip(np.indices(shape), centre, strict=True))
    return (2 * np.exp(-(y**2 + x**2) / (2 * deviation**2)) - 1).reshape(1, -1)


def moments(x, shape):
    """Where the bright part lies, from the middle of the image, and its standard deviations, in height and width."""
    mass = (x.reshape(shape) + 1) / (x + 1).sum()
    p = [axis - (n - 1) / 2 for axis, n in zip(np.indices(shape), shape, strict=True)]
    mean = [(mass * axis).sum() for axis in p]
    return np.array(mean), np.sqrt([(mass * (axis - m) ** 2).sum() for axis, m in zip(p, mean, strict=True)])


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_changed_where_everything_is_set_to_zero(shape):
    distort = distortion(shape, **NOTHING)
    x, labels = images(shape, 30)
    x = x.astype(np.float32)
    np.testing.assert_array_equal(distort(x, labels, np.random.default_rng(0)), x)


@pytest.mark.parametrize("share", [1, -1])
def test_a_quarter_turn_is_counterclockwise_if_its_angle_is_positive(share):
    """A pixel right of the middle moves up: p = c + R(θ) (q − c), in rows and columns."""
    x = images((5, 5), 1)[0]
    distort = distortion((5, 5), "float64", **NOTHING | {"rotation": 90.0})
    turned = distort(x, np.array([0]), Draws(angle=share)).reshape(5, 5)
    np.testing.assert_allclose(turned, np.rot90(x.reshape(5, 5), k=share), atol=1e-12)


@pytest.mark.parametrize(("label", "degrees"), [(0, 15.0), (1, 7.5), (7, 7.5), (8, 15.0)])
@pytest.mark.parametrize("share", [1, -1, 0.4])
def test_a_blob_right_of_the_middle_rises_by_the_sine_of_the_angle(label, degrees, share):
    shape, r = (41, 31), 10
    distort = distortion(shape, "float64", alpha=0.0, scaling=0.0)
    found = distort(blob(shape, (20, 15 + r)), np.array([label]), Draws(angle=share))
    angle = np.deg2rad(degrees * share)
    np.testing.assert_allclose(moments(found, shape)[0], [-r * np.sin(angle), r * np.cos(angle)], atol=0.01)


@pytest.mark.parametrize("stretch", [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1)])
def test_a_blob_grows_by_the_stretch_of_height_and_width(stretch):
    shape = (61, 51)
    distort = distortion(shape, "float64", **NOTHING | {"scaling": 0.5})
    found = distort(blob(shape, (30, 25), 4.0), np.array([0]), Draws(stretch=stretch))
    factors = 1 + 0.5 * np.array(stretch)
    # Bilinear interpolation widens a blob by at most the variance ¼ of half a pixel either way.
    np.testing.assert_allclose(moments(found, shape)[1], 4 * factors, atol=0.25 / 2 / 4 * factors.max())


def test_an_image_is_stretched_along_its_own_axes_and_then_turned():
    distort = distortion((8, 8), rotation=30.0, scaling=0.5)
    A = distort.draw(np.array([0]), Draws(angle=1, stretch=(1, -1)))[1][:, :, 0]
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    np.testing.assert_allclose(A, [[c / 1.5, s / 1.5], [-s / 0.5, c / 0.5]], atol=1e-15)


# Statistics of what is drawn. Seeds are fixed; limits are four or more standard deviations of the estimate.


@pytest.fixture(scope="module")
def drawn():
    distort = distortion((8, 8))
    labels = np.arange(20_000) % 10
    noise, A = distort.draw(labels, np.random.default_rng(0))
    return labels, noise, A


def test_the_noise_is_uniform_over_all_bytes_and_has_no_mean(drawn):
    noise = drawn[1][..., :8].reshape(2, -1)
    for component in noise:
        assert chisquare(np.bincount(component, minlength=256)).pvalue > 1e-4
        uniform = component / 127.5 - 1
        assert abs(uniform.mean()) < 4 / np.sqrt(3 * uniform.size)
    centred = noise / 127.5 - 1
    assert abs((centred[0] * centred[1]).mean()) < 4 / 3 / np.sqrt(centred[0].size)


def test_angles_are_uniform_within_their_limits_and_the_narrow_classes_have_their_own(drawn):
    labels, _, A = drawn
    angle = np.rad2deg(np.arctan2(A[0, 1], A[0, 0]))
    for label in range(10):
        limit = 7.5 if label in (1, 7) else 15.0
        own = angle[labels == label] / limit
        assert 0.99 < np.abs(own).max() <= 1
        assert kstest(own, "uniform", (-1, 2)).pvalue > 1e-4
    np.testing.assert_allclose(np.arctan2(-A[1, 0], A[1, 1]), np.deg2rad(angle), atol=1e-12)


def test_height_and_width_are_stretched_uniformly_and_each_for_itself(drawn):
    _, _, A = drawn
    stretch = (1 / np.hypot(A[:, 0], A[:, 1]) - 1) / 0.175
    angle = np.arctan2(A[0, 1], A[0, 0])
    for share in stretch:
        assert 0.999 < np.abs(share).max() <= 1 + 1e-12
        assert kstest(share, "uniform", (-1, 2)).pvalue > 1e-4
    assert (np.abs(np.corrcoef([*stretch, angle])[np.triu_indices(3, 1)]) < 4 / np.sqrt(len(angle))).all()


class Spy(NumpyBackend):
    """Remembers every position at which an image was looked at."""

    def __init__(self, dtype):
        super().__init__(dtype)
        self.seen = []

    def bilinear(self, images, at, outside):
        self.seen.append(at.copy())
        return super().bilinear(images, at, outside)


def test_displacements_have_the_size_that_theory_gives_them():
    """A smoothed field's variance is that of the noise, α²/3, times the squares of the kernel's weights."""
    shape, B = (28, 28), 2000
    spy = Spy("float32")
    distort = Distortion(Augment(**NOTHING | {"alpha": 37.0}), shape, -1.0, spy)
    x, labels = images(shape, B)
    distort(x.astype(np.float32), labels, np.random.default_rng(0))
    at = np.concatenate(spy.seen, axis=2)  # (2, height, B, width)
    u = at - np.stack(np.indices(shape))[:, :, None, :]
    K = gaussian_filter1d(np.eye(28), 5.5, mode="constant")
    weights = np.linalg.norm(K, axis=1)
    for i, j in [(13, 13), (0, 0), (27, 5), (13, 27)]:
        here = u[:, i, :, j]
        rms = 37 / np.sqrt(3) * weights[i] * weights[j]
        assert np.sqrt((here**2).mean()) == pytest.approx(rms, rel=4 / np.sqrt(2 * here.size))
        assert (np.abs(here.mean(axis=1)) < 4 * rms / np.sqrt(B)).all()
        assert abs(np.corrcoef(here)[0, 1]) < 4 / np.sqrt(B)
    neighbours = np.corrcoef(u[0, 13, :, 13], u[0, 13, :, 14])[0, 1]
    rho = K[13] @ K[14] / (weights[13] * weights[14])  # about exp(−1 / 4σ²): two Gaussians, one pixel apart
    assert neighbours == pytest.approx(rho, abs=5 * (1 - rho**2) / np.sqrt(B))


# Known from seed and iteration alone


class Always:
    """The same batch at every iteration."""

    def __init__(self, x, labels):
        self.batch = Batch(x, labels)

    def at(self, iteration):
        return self.batch


def distorted(digits, seed=0, batches=None, dtype="float32"):
    return Distorted(batches or digits.train.batches(50, 0), distortion((8, 8), dtype), seed)


def test_a_batch_is_the_same_whatever_was_asked_for_before(digits):
    fresh = {i: distorted(digits).at(i) for i in (1, 3, 40)}  # an epoch has 23 batches
    used = distorted(digits)
    for i in (40, 1, 3, 3, 7, 1, 40):
        batch = used.at(i)
        if i in fresh:
            np.testing.assert_array_equal(batch.x, fresh[i].x)
            np.testing.assert_array_equal(batch.labels, fresh[i].labels)


def test_the_same_images_are_distorted_anew_at_every_iteration_and_for_every_seed(digits, batch):
    shown = [distorted(digits, seed, Always(*batch)).at(i).x for seed in (0, 1) for i in (1, 2)]
    for a in range(4):
        for b in range(a):
            assert (shown[a] != shown[b]).any(axis=1).all()
    np.testing.assert_array_equal(shown[0], distortion((8, 8))(*batch, stream(0, "augment", 1)))


def test_every_image_of_a_batch_is_distorted_in_its_own_way(digits, batch):
    x = np.repeat(batch[0][:1], 50, axis=0)
    found = distorted(digits, batches=Always(x, np.zeros(50, dtype=int))).at(1).x
    assert len(np.unique(found, axis=0)) == 50


def test_labels_are_untouched_and_inputs_not_changed_in_place(batch):
    x, labels = batch[0].copy(), batch[1].copy()
    found = Distorted(Always(x, labels), distortion((8, 8)), 0).at(1)
    assert found.fresh
    assert not np.shares_memory(found.x, x)
    np.testing.assert_array_equal(found.labels, batch[1])
    np.testing.assert_array_equal(x, batch[0])
    np.testing.assert_array_equal(labels, batch[1])
    distort = distortion((8, 8), "float64")
    noise, A = distort.draw(labels, np.random.default_rng(0))
    before = noise.copy(), A.copy()
    wide = x.astype(np.float64)
    distort.apply(wide, noise, A)
    np.testing.assert_array_equal(wide, x)
    np.testing.assert_array_equal(noise, before[0])
    np.testing.assert_array_equal(A, before[1])


def test_pixels_stay_within_the_range_of_the_images(batch):
    found = distortion((8, 8))(*batch, np.random.default_rng(0))
    assert -1 - 1e-6 <= found.min() <= found.max() <= 1 + 1e-6
