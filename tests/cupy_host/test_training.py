"""Training on the device: the same losses as on NumPy, and run folders that either backend goes on from."""

import json

import cupy
import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from minisig.backends import get_backend
from minisig.backends.device import CHECKS
from minisig.cli import main
from minisig.data import load
from minisig.errors import Diverged
from minisig.models import build_network
from minisig.training.checkpoint import Position, load_checkpoint, save_checkpoint
from minisig.training.evaluate import evaluate
from minisig.training.restore import restore
from minisig.training.run import run

from .runs import RUNS, TOLERANCE, agree, configured, small, training

pytestmark = pytest.mark.gpu


def watched(name, text, **overrides):
    return {b: list(training(configured(name, text, backend=b, **overrides))) for b in ("cupy", "numpy")}


@pytest.mark.parametrize("name", RUNS)
def test_twenty_steps_are_the_same(name, text):
    records = watched(name, text)
    assert len(records["numpy"]) == 20
    # Rounding grows with the steps: a hundred times that of one trace. An example that is undecided may go either way.
    for mine, right in zip(records["cupy"], records["numpy"], strict=True):
        for outcome in ("valid_error", "valid_recall"):
            assert mine.pop(outcome, 0.0) == pytest.approx(right.pop(outcome, 0.0), abs=1.0)
        agree(mine, right, "float32", tolerance=100 * TOLERANCE["float32"])
    losses = [[record["train_loss"] for record in records[b]] for b in ("cupy", "numpy")]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert len({round(loss, 6) for loss in losses[0]}) > 15  # something happens


@pytest.mark.parametrize("name", ["momentum", "adam, clipped", "rnn, momentum", "lstm"])
def test_twenty_steps_in_double_precision_are_the_same_to_many_digits(name, text):
    records = watched(name, text, dtype="float64")
    for mine, right in zip(records["cupy"], records["numpy"], strict=True):
        agree(mine, right, "float64", tolerance=1e-8)


@pytest.mark.parametrize("name", ["momentum", "rnn", "text, rnn"])
def test_evaluation_is_the_same_on_the_hosts_data_and_on_the_devices(name, text):
    config = configured(name, text)
    data = small(load(config.data, seed=config.seed))
    net = build_network(config, data).on(get_backend("numpy", "float64"))
    expected = evaluate(net, data.test)
    for part in (data.test, data.on(cupy).test):
        agree(dict(evaluate(net.on(get_backend("cupy", "float64")), part)), dict(expected), "float64")


def test_statistics_are_logged_while_training(text):
    records = watched("momentum", text, statistics_every=10, iterations=10, log_every=10, validate_every=10)
    statistics = {b: [r["statistics"] for r in records[b] if "statistics" in r] for b in records}
    assert len(statistics["numpy"]) == 2
    agree(statistics["cupy"], statistics["numpy"], "float32", tolerance=1e-3)


def test_divergence_is_told_as_on_the_host(text):
    config = configured("momentum", text, backend="cupy", optimizer__learning_rate=1e30)
    with pytest.raises(Diverged, match="lower the learning rate"):
        list(training(config))


@pytest.mark.parametrize("name", ["momentum, clipped", "text, lstm with dropout", "rnn"])
@pytest.mark.parametrize(("first", "second"), [("numpy", "cupy"), ("cupy", "numpy"), ("cupy", "cupy")])
def test_a_checkpoint_of_one_backend_goes_on_on_the_other(tmp_path, name, text, first, second, on_host):
    whole = training(configured(name, text))
    expected = [record["train_loss"] for record in whole]
    half = training(configured(name, text, backend=first))
    losses = [half.advance()["train_loss"] for _ in range(10)]
    norms = {layer: 1.0 for layer, found in half.net.layers.items() if found.params}
    save_checkpoint(tmp_path, half, metrics_bytes=0, seconds=0.0, first=norms, last=norms)
    rest = training(configured(name, text, backend=second))
    position = Position(
        iteration=10,
        best_iteration=0,
        best_score=None,
        content=half.data.content,
        metrics_bytes=0,
        seconds=0.0,
        first=norms,
        last=norms,
    )
    assert load_checkpoint(tmp_path, rest) == position
    losses += [record["train_loss"] for record in rest]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    # The same machine, hence the same bits; but a card adds up the rows of an embedding's gradient in any order.
    if first == second and (on_host or "embedding" not in rest.net.layers):
        again = training(configured(name, text, backend=first))
        assert losses == [record["train_loss"] for record in again]


def test_a_whole_run_and_its_folder(tmp_path, text):
    config = configured("momentum, clipped", text, validate_every=5, log_every=5)
    summaries = {b: run(replace(config, backend=b), tmp_path / b) for b in ("cupy", "numpy")}
    for name in ("train_loss", "valid_loss", "test_loss", "best_iteration"):
        assert summaries["cupy"][name] == pytest.approx(summaries["numpy"][name], rel=1e-4), name
    assert summaries["cupy"]["backend"] == "cupy"
    _, data, net = restore(tmp_path / "cupy")
    assert isinstance(net.params["dense0.W"], cupy.ndarray)
    assert evaluate(net, data.test).loss == pytest.approx(summaries["cupy"]["test_loss"], rel=1e-6)


def minisig(*arguments):
    """The object that a command prints."""
    done = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


DIGITS_100 = ("digits", "--iterations", 100)
COPY_SHORT = ("copy-memory", "--set", "data.delay=5", "--hidden", 20, "--iterations", 60)


@pytest.mark.parametrize("command", [DIGITS_100, COPY_SHORT], ids=lambda command: command[0])
def test_the_command_line_trains_to_the_same_losses(tmp_path, command):
    options = ("--set", "log_every=10", "--set", "validate_every=50")
    runs = {b: tmp_path / b for b in ("cupy", "numpy")}
    summaries = {b: minisig("train", *command, *options, "--backend", b, "--out", runs[b]) for b in runs}
    for name in ("train_loss", "valid_loss", "test_loss"):
        assert summaries["cupy"][name] == pytest.approx(summaries["numpy"][name], rel=1e-3), name
    losses = [[record["train_loss"] for record in lines(runs[b])] for b in ("cupy", "numpy")]
    assert len(losses[0]) > 5
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


@pytest.mark.parametrize(("first", "second"), [("numpy", "cupy"), ("cupy", "numpy")])
def test_a_run_goes_on_and_is_inspected_on_the_other_backend(tmp_path, first, second):
    settings = ("batch_size=20", "log_every=5", "validate_every=5", "optimizer.schedule=constant")
    short = ("--hidden", "2x12", *(word for setting in settings for word in ("--set", setting)))
    whole = minisig("train", *short, "--iterations", 20, "--backend", first, "--out", tmp_path / "whole")
    minisig("train", *short, "--iterations", 10, "--backend", first, "--out", tmp_path / "run")
    done = minisig("train", "--resume", tmp_path / "run", "--iterations", 20, "--backend", second)
    assert done["backend"] == second
    assert done["test_loss"] == pytest.approx(whole["test_loss"], rel=1e-4)
    assert [record["iteration"] for record in lines(tmp_path / "run")] == [1, 5, 10, 15, 20]
    seen = [minisig("inspect", tmp_path / "run", "--backend", b)["layers"] for b in ("cupy", "numpy")]
    agree(*seen, "float32", tolerance=1e-4)


def test_doctor_sees_the_device_and_memory_is_limited(tmp_path):
    short = ("--hidden", 8, "--iterations", 2, "--set", "memory=0.5", "--out", tmp_path / "run")
    try:
        minisig("train", *short, "--backend", "cupy")
        assert cupy.get_default_memory_pool().get_limit() == 500_000_000
    finally:
        cupy.get_default_memory_pool().set_limit(size=0)
    assert minisig("doctor")["gpu"].keys() == CHECKS.keys()
