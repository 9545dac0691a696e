"""Whole runs: the claims of the paper on the embedded data, and what is left on disk."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from minisig.errors import MinisigError, UsageError
from minisig.experiments import configure
from minisig.training.files import read_config
from minisig.training.folder import FILES, RunFolder
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


def test_thirty_sigmoid_layers_learn_the_digits(digits):
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


def test_strided_parameters_are_saved_as_they_read(tmp_path):
    w = np.arange(12.0).reshape(3, 4).T[::2]
    RunFolder(tmp_path).finish({"w": w}, {})
    np.testing.assert_array_equal(load_file(tmp_path / "best.safetensors")["w"], w)


def test_a_folder_with_a_run_is_left_alone(tmp_path):
    first, second = configure("digits"), configure("xor")
    RunFolder(tmp_path).claim(first)
    with pytest.raises(UsageError, match="already holds a run"):
        RunFolder(tmp_path).claim(second)
    assert read_config(tmp_path) == first


def test_a_write_that_fails_leaves_no_half_file_under_the_right_name(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path)
    folder.claim(configure("xor"))

    def full(path, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(MinisigError, match="No space left on device"):
        folder.finish({"w": np.zeros(3)}, {})
    assert not (tmp_path / "best.safetensors").exists()
    assert not (tmp_path / "summary.json").exists()


def test_numbered_folders_are_new_ones(tmp_path):
    folders = [RunFolder(tmp_path / "runs" / "a", numbered=True) for _ in range(3)]
    for folder in folders:
        folder.claim(configure("xor"))
    assert [folder.path.name for folder in folders] == ["a", "a-2", "a-3"]


@pytest.mark.parametrize("name", FILES)
def test_a_folder_with_anything_of_a_run_in_it_is_not_taken_for_another(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(UsageError, match="already holds a run"):
        RunFolder(tmp_path).claim(configure("xor"))


def test_folders_may_be_named_by_strings(tmp_path):
    config = configure("xor", {"iterations": 2})
    summary = run(config, str(tmp_path / "run"))
    assert resume(str(tmp_path / "run")) == summary
    assert restore(str(tmp_path / "run"))[0] == config
