"""Training on distorted images: what is distorted and what is not, the settings, and the memory it takes."""

import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from minisig.cli import main
from minisig.data import load
from minisig.data.config import Augment
from minisig.errors import UsageError
from minisig.experiments import configure
from minisig.models import build_network
from minisig.seeds import stream
from minisig.training.evaluate import evaluate
from minisig.training.loop import Training
from minisig.training.run import run
from tests.data.distortions import WILD, distortion
from tests.data.real import needs_mnist


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


@needs_mnist
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
