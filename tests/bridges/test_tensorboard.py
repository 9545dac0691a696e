"""The TensorBoard log, read back by TensorBoard's own reader."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import minisig as ms
from minisig.cli import main
from minisig.training.files import read_tensors
from tests.faults.runs import text

pytest.importorskip("tensorboardX", reason="tensorboardX is not installed: pip install 'minisig[tensorboard]'")
reader = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed"
)

SETTINGS = ("digits", "--hidden", "2x20", "--iterations", "40")
EVERY = ("log_every=5", "validate_every=20", "checkpoint_every=10", "statistics_every=20")


def train(folder, *args):
    settings = [part for setting in EVERY for part in ("--set", setting)]
    return CliRunner().invoke(main, ["train", *SETTINGS, *settings, "--out", str(folder), *args])


def log(folder):
    everything = dict.fromkeys((reader.SCALARS, reader.HISTOGRAMS), 0)
    return reader.EventAccumulator(str(folder / "tensorboard"), size_guidance=everything).Reload()


def records(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "logged"
    result = train(folder, "--tensorboard")
    assert result.exit_code == 0, result.output
    return folder


def scalars(events):
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_every_number_of_the_metrics_is_a_scalar(run):
    expected = {}
    for record in records(run):
        step = record.pop("iteration")
        rows = {
            f"{key}/{row['name']}": row[key] for row in record.pop("statistics", []) for key in row if key != "name"
        }
        for name, value in record.items():
            rows |= {f"{name}/{layer}": v for layer, v in value.items()} if isinstance(value, dict) else {name: value}
        for tag, value in rows.items():
            expected.setdefault(tag, []).append((step, pytest.approx(value, rel=1e-6)))
    found = scalars(log(run))
    assert found == expected
    assert [step for step, _ in found["gradient_norm/dense0"]] == [1, 5, 10, 15, 20, 25, 30, 35, 40]
    assert [step for step, _ in found["entropy/dense1"]] == [1, 20, 40]


def test_histograms_are_those_of_the_network_at_the_start_and_when_validated(run, digits):
    events = log(run)
    tags = {f"{what}/dense{i}.{key}" for what in ("parameter", "gradient") for i in range(3) for key in "Wb"}
    assert set(events.Tags()["histograms"]) == tags | {f"logit/dense{i}" for i in range(3)}
    first, *_, last = events.Histograms("parameter/dense1.W")
    assert [event.step for event in events.Histograms("gradient/dense0.W")] == [0, 20, 40]
    trained = read_tensors(run / "checkpoint.safetensors")[0]["param.dense1.W"].astype(np.float64)
    value = last.histogram_value
    assert (value.min, value.max, value.num) == (trained.min(), trained.max(), trained.size)
    assert (value.sum, value.sum_squares) == pytest.approx((trained.sum(), (trained**2).sum()), rel=1e-5)

    from minisig.models import build_network

    config = ms.configure("digits", {"network.hidden": [20, 20]})
    net = build_network(config, digits)
    batch = digits.train.batches(50, 0).at(1)
    gradient = net.trace(batch.x, batch.labels).gradients["dense0.W"].dense(net.backend)
    value = events.Histograms("gradient/dense0.W")[0].histogram_value
    assert (value.min, value.max) == (gradient.min(), gradient.max())
    assert first.histogram_value.max == net.params["dense1.W"].max()


def test_the_log_changes_no_bit_of_the_training(run, tmp_path):
    assert train(tmp_path / "plain").exit_code == 0
    assert not (tmp_path / "plain" / "tensorboard").exists()
    for name in ("metrics.jsonl", "best.safetensors", "config.json"):
        assert (run / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_a_recurrent_networks_log_changes_no_bit_either(tmp_path):
    """Its states are carried from batch to batch, its dropout masks drawn."""
    common = ["train", "ptb-dropout", "--data", str(text(tmp_path / "text")), "--hidden", "7", "--iterations", "8"]
    common += ["--set", "batch_size=3", "--set", "data.steps=5", "--set", "validate_every=2", "--set", "log_every=1"]
    for name, flag in (("plain", []), ("logged", ["--tensorboard"])):
        result = CliRunner().invoke(main, [*common, "--out", str(tmp_path / name), *flag])
        assert result.exit_code == 0, result.output
    for name in ("metrics.jsonl", "best.safetensors"):
        assert (tmp_path / "logged" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
    assert "gradient/embedding.E" in log(tmp_path / "logged").Tags()["histograms"]


def test_a_resumed_run_goes_on_in_its_log_with_nothing_twice(run, tmp_path):
    """Stopped after iteration 23, it goes on from the checkpoint of iteration 20: 25, seen twice, counts once."""
    from minisig.bridges.tensorboard import TensorBoard

    settings = {"network.hidden": [20, 20], "iterations": 40} | {
        name: int(value) for name, value in (setting.split("=") for setting in EVERY)
    }
    ended = tmp_path / "ended"

    class Killed(Exception):
        pass

    def kill(record):
        if record["iteration"] == 25:
            raise Killed

    with pytest.raises(Killed):
        ms.run(ms.configure("digits", settings), ended, observers=[TensorBoard(ended), kill])
    assert scalars(log(ended))["train_loss"][-1][0] == 25
    result = CliRunner().invoke(main, ["train", "--resume", str(ended)])  # the log is there: no need to ask for it
    assert result.exit_code == 0, result.output
    assert scalars(log(ended)) == scalars(log(run))
    assert [event.step for event in log(ended).Histograms("parameter/dense0.W")] == [0, 20, 40]


def test_a_run_can_get_a_log_when_it_is_resumed(tmp_path):
    assert train(tmp_path / "run", "--set", "optimizer.schedule=constant").exit_code == 0
    result = CliRunner().invoke(
        main, ["train", "--resume", str(tmp_path / "run"), "--iterations", "60", "--tensorboard"]
    )
    assert result.exit_code == 0, result.output
    assert [step for step, _ in scalars(log(tmp_path / "run"))["valid_loss"]] == [60]
