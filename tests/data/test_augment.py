"""Distorted images: against a slow and plain reference, their statistics, and what must stay undistorted."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.ndimage import gaussian_filter, gaussian_filter1d, map_coordinates
from scipy.stats import chisquare, kstest

from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.cli import main
from minisig.data import Batch, load
from minisig.data.augment import Distorted, Distortion
from minisig.data.config import Augment
from minisig.errors import UsageError
from minisig.experiments import configure
from minisig.seeds import stream
from minisig.training.build import build_network
from minisig.training.evaluate import evaluate
from minisig.training.loop import Training
from minisig.training.run import run

NOTHING = {"alpha": 0.0, "rotation": 0.0, "narrow_rotation": 0.0, "scaling": 0.0}
WILD = {"alpha": 60.0, "sigma": 0.7, "rotation": 180.0, "scaling": 0.99, "narrow": ()}
SHAPES = [(28, 28), (8, 8), (5, 9), (9, 5), (1, 7)]


def distortion(shape=(28, 28), dtype="float32", **config):
    return Distortion(Augment(**config), shape, -1.0, get_backend("numpy", dtype))


def images(shape, B, seed=0):
    """Noise in [−1, 1], on which a shift by a thousandth of a pixel shows, and labels."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (B, shape[0] * shape[1])), rng.integers(0, 10, B)


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
    """Where the bright part lies, from the middle of the image, and its deviations, in height and width."""
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


# Statistics of what is drawn. Seeds are fixed; limits are four or more deviations of the estimate.


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
    weights = np.linalg.norm(gaussian_filter1d(np.eye(28), 5.5, mode="constant"), axis=1)
    for i, j in [(13, 13), (0, 0), (27, 5), (13, 27)]:
        here = u[:, i, :, j]
        rms = 37 / np.sqrt(3) * weights[i] * weights[j]
        assert np.sqrt((here**2).mean()) == pytest.approx(rms, rel=4 / np.sqrt(2 * here.size))
        assert (np.abs(here.mean(axis=1)) < 4 * rms / np.sqrt(B)).all()
        assert abs(np.corrcoef(here)[0, 1]) < 4 / np.sqrt(B)
    neighbours = np.corrcoef(u[0, 13, :, 13], u[0, 13, :, 14])[0, 1]
    assert neighbours == pytest.approx(np.exp(-1 / (4 * 5.5**2)), abs=0.01)  # two Gaussians, one pixel apart


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


# In training


def training(digits, **overrides):
    settings = {"network.hidden": [20], "iterations": 30, "log_every": 10, "validate_every": 10, "data.augment": {}}
    config = configure("digits", settings | overrides)
    return Training(build_network(config, digits), digits, config)


@pytest.mark.parametrize("settings", [{}, {"alpha": 3.0, "rotation": 40.0, "narrow": [0, 5]}], ids=["paper", "other"])
def test_training_sees_images_distorted_as_configured_with_their_labels(digits, settings):
    augmented, plain = training(digits, **{"data.augment": settings}), training(digits, **{"data.augment": None})
    distort = distortion((8, 8), **settings)
    for i in (1, 2, 30):
        shown, original = augmented.batches.at(i), plain.batches.at(i)
        assert (shown.x != original.x).any(axis=1).all()
        np.testing.assert_array_equal(shown.labels, original.labels)
        np.testing.assert_array_equal(shown.x, distort(original.x, original.labels, stream(0, "augment", i)))


def test_the_seed_of_the_run_is_the_seed_of_its_distortions(digits):
    seven, zero = (training(digits, seed=seed).batches for seed in (7, 0))
    batch = digits.train.batches(50, 7).at(1)
    expected = distortion((8, 8))(batch.x, batch.labels, stream(7, "augment", 1))
    np.testing.assert_array_equal(seven.at(1).x, expected)
    assert (zero.at(1).x != expected).any()


def test_the_networks_precision_is_that_of_the_images(digits):
    assert training(digits, dtype="float64").batches.at(1).x.dtype == np.float64


def test_validation_test_and_evaluated_training_images_are_not_distorted():
    data, untouched = load("digits"), load("digits")
    running = training(data)
    *_, last = running
    assert last["valid_loss"] == evaluate(running.net, untouched.valid).loss
    for part in ("train", "valid", "test"):
        own, original = getattr(data, part), getattr(untouched, part)
        np.testing.assert_array_equal(np.concatenate([w.x for w in own.windows()]), original.x)
        np.testing.assert_array_equal(own.y, original.y)


def test_a_summary_is_of_undistorted_images(digits):
    config = configure("digits", {"network.hidden": [20], "iterations": 5, "data.augment": {}})
    summary = run(config)
    net = build_network(config, digits)
    records = Training(net, digits, config)
    list(records)
    net.load(records.best)
    assert summary["train_loss"] == evaluate(net, digits.train).loss
    assert summary["test_loss"] == evaluate(net, digits.test).loss


# Settings


def test_data_that_are_no_images_are_not_to_be_augmented():
    data = load("xor")
    config = configure("xor", {"data.augment": {}})
    with pytest.raises(UsageError, match=r"xor are not images.*data\.augment"):
        Training(build_network(config, data), data, config)


def test_the_papers_settings_are_the_default_and_any_can_be_replaced():
    augment = configure("mnist-deep-augmented").data.augment
    assert augment == Augment(alpha=37, sigma=5.5, rotation=15, narrow_rotation=7.5, narrow=(1, 7), scaling=0.175)
    assert configure("mnist-deep").data.augment is None
    assert configure("mnist-deep-augmented", {"data.augment.alpha": 20}).data.augment.alpha == 20
    assert configure("digits", {"data.augment": {}, "data.augment.alpha": 20}).data.augment == Augment(alpha=20)
    assert configure("mnist-deep-augmented", {"data.augment": None}).data.augment is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"data.augment.beta": 1}, "beta"),
        ({"data.augment": {"elastic": 1}}, "elastic"),
        ({"data.augment.alpha": -1}, "augment.alpha"),
        ({"data.augment.sigma": 0}, "augment.sigma"),
        ({"data.augment.sigma": 1e-200}, "augment.sigma"),  # whose square underflows
        ({"data.augment.rotation": 181}, "augment.rotation"),
        ({"data.augment.scaling": 1}, "augment.scaling"),
        ({"data.augment.narrow": [-1]}, "augment.narrow"),
        ({"data.augment.alpha": "much"}, "augment.alpha"),
        ({"data.augment": {"alpha": float("nan")}}, "augment.alpha"),
        ({"data.augment": 5}, "augment"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_by_name(settings, words):
    with pytest.raises(UsageError, match=words):
        configure("mnist-deep-augmented", settings)


def test_one_setting_of_what_is_not_augmented_turns_it_on():
    assert configure("digits").data.augment is None
    assert configure("digits", {"data.augment.alpha": 20}).data.augment == Augment(alpha=20)


@pytest.mark.parametrize(
    ("experiment", "settings", "code", "words"),
    [
        ("digits", ["data.augment={}", "data.augment.alpha=20"], 0, ""),
        ("digits", ['data.augment={"alpha": 20, "narrow": []}'], 0, ""),
        ("digits", ["data.augment={}", "data.augment.beta=20"], 2, "beta"),
        ("xor", ["data.augment={}"], 2, "data.augment"),
    ],
)
def test_the_command_line_sets_it_or_says_why_not(tmp_path, experiment, settings, code, words):
    options = [option for setting in settings for option in ("--set", setting)]
    args = ["train", experiment, "--iterations", "2", "--out", str(tmp_path / "run"), *options]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert (tmp_path / "run").exists() == (code == 0)


# Memory


PEAK = """
import sys
from minisig.experiments import configure
from minisig.training.run import run

run(configure(sys.argv[1], {"iterations": 3}))
with open("/proc/self/status") as status:  # ru_maxrss would know of pytest's memory too, from before exec
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024)
"""


@pytest.mark.skipif(
    not (Path(os.environ.get("MINISIG_DATA", "/nowhere")) / "mnist").is_dir(), reason="$MINISIG_DATA/mnist is not there"
)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak memory is read from /proc")
@pytest.mark.parametrize("experiment", ["mnist-deep", "mnist-deep-augmented"])
def test_the_papers_deep_network_trains_on_mnist_in_600_megabytes(experiment):
    result = subprocess.run([sys.executable, "-c", PEAK, experiment], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 600


def test_beyond_the_edge_of_somebodys_images_lies_their_own_background(tmp_path):
    """Pixels in [0, 1] are taken as they are; a background of −1 would be a value that they never have."""
    x, y = np.random.default_rng(0).uniform(0, 1, (40, 6, 6)).astype(np.float32), np.arange(40) % 2
    x[:, 0] = 0.0
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=y)
    config = configure("digits", {"data.path": str(tmp_path / "mine.npz"), "data.augment": WILD, "batch_size": 20})
    data = load(config.data)
    seen = Training(build_network(config, data), data, config).batches.at(1).x
    assert data.background == seen.min() == 0.0
    assert (seen == 0.0).mean() > 0.1
    assert load("digits").background == -1.0
