"""Whole runs: the claims of the paper on the embedded data, and what is left on disk."""

import json

import numpy as np
import pytest
from msgspec.structs import replace
from safetensors.numpy import load_file

from minisig.data import DataConfig
from minisig.errors import UsageError
from minisig.experiments import configure
from minisig.training.config import NetworkConfig, OptimizerConfig
from minisig.training.files import read_config
from minisig.training.folder import RunFolder
from minisig.training.restore import restore
from minisig.training.run import resume, run


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep"])
def test_eight_sigmoid_layers_learn_the_digits_with_ep(init):
    summary = run(configure("digits", {"network.init": init, "iterations": 1500}))
    assert summary["test_error"] < 3
    norms = [layer["gradient_norm_first"] for layer in summary["layers"]]
    assert max(norms) / min(norms) < 5


@pytest.mark.parametrize("init", ["lecun", "glorot", "ortho", "lsuv"])
def test_eight_sigmoid_layers_stay_dead_with_every_other_initialization(init):
    summary = run(configure("digits", {"network.init": init, "iterations": 1500}))
    assert summary["test_error"] > 80
    assert summary["layers"][0]["gradient_norm_first"] < 2e-3 * summary["layers"][-1]["gradient_norm_first"]


def test_thirty_sigmoid_layers_learn_the_digits():
    summary = run(configure("digits", {"network.hidden": [100] * 30, "iterations": 800}))
    assert summary["test_error"] < 10


def test_two_hidden_units_solve_xor():
    errors = [run(configure("xor", {"network.init": "ortho+ep", "seed": seed}))["test_error"] for seed in range(5)]
    assert np.median(errors) < 5


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(configure("digits", {"iterations": 3}))
    assert not list(tmp_path.iterdir())


def test_a_run_folder_holds_configuration_metrics_parameters_and_summary(tmp_path):
    config = configure("digits", {"iterations": 30, "network.hidden": [8]})
    summary = run(config, RunFolder(tmp_path / "run"))
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        ".lock",
        "best.safetensors",
        "checkpoint.safetensors",
        "config.json",
        "metrics.jsonl",
        "summary.json",
    ]
    assert json.loads((tmp_path / "run" / "summary.json").read_text()) == summary
    written = json.loads((tmp_path / "run" / "config.json").read_text())
    assert written["network"]["hidden"] == [8]
    assert load_file(tmp_path / "run" / "best.safetensors")["dense0.W"].shape == (64, 8)


def test_folders_may_be_named_by_strings(tmp_path):
    config = configure("xor", {"iterations": 2})
    summary = run(config, str(tmp_path / "run"))
    assert resume(str(tmp_path / "run")) == summary
    assert restore(str(tmp_path / "run"))[0] == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected int >= 1, got 0"),
        ({"network": NetworkConfig(hidden=5)}, "network.hidden: expected array, got 5"),
        ({"optimizer": OptimizerConfig(learning_rate=-1.0)}, "optimizer.learning_rate: expected float > 0"),
        ({"data": {"source": "copy-memory", "delay": 0}}, "data.delay: expected int >= 1, got 0"),
    ],
    ids=["batch", "hidden", "rate", "delay"],
)
def test_a_configuration_made_by_hand_is_checked_before_anything_is_done(tmp_path, change, message):
    with pytest.raises(UsageError, match=message):
        run(replace(configure("xor"), **change), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_data_of_a_configuration_made_by_hand_are_found_from_wherever_it_is_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("".join(f"{i},{-i},{i % 2}\n" for i in range(40)))
    run(replace(configure("digits", {"iterations": 1}), data=DataConfig(source="table", path="mine.csv")), "run")
    assert read_config(tmp_path / "run").data.path == str(tmp_path / "mine.csv")
