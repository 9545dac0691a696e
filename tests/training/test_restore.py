"""A run brought back from its folder, and folders that are not what they seem."""

import os

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import load_file, save_file

from minisig.cli import main
from minisig.errors import DataError
from minisig.experiments import configure
from minisig.training.evaluate import evaluate
from minisig.training.folder import RunFolder
from minisig.training.restore import restore
from minisig.training.run import run


@pytest.fixture
def finished(tmp_path):
    folder = tmp_path / "run"
    return folder, run(configure("digits", {"network.hidden": [12, 12], "iterations": 40}), folder)


def test_a_restored_network_is_the_selected_one(finished):
    folder, summary = finished
    config, data, net = restore(folder)
    assert config.network.hidden == (12, 12)
    assert evaluate(net, data.test).loss == summary["test_loss"]


def cut(path):
    path.write_bytes(path.read_bytes()[:-30])


def reshape(path):
    arrays = load_file(path)
    save_file(arrays | {"dense0.W": arrays["dense0.W"][:-1].copy()}, path)


def rename(path):
    save_file({f"../{name}": w for name, w in load_file(path).items()}, path)


def spoil(path):
    arrays = load_file(path)
    save_file(arrays | {"dense0.b": arrays["dense0.b"] * np.nan}, path)


@pytest.mark.parametrize(
    "damage", [cut, reshape, rename, spoil, lambda path: path.unlink(), lambda path: path.write_bytes(b"")]
)
def test_damaged_parameters_are_refused(finished, damage):
    folder, _ = finished
    damage(folder / "best.safetensors")
    with pytest.raises(DataError, match=r"best\.safetensors"):
        restore(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"experiment": 3}', '{"seed": "\\ud800"}', "\xff"])
def test_a_damaged_configuration_is_refused(finished, text):
    folder, _ = finished
    (folder / "config.json").write_text(text, encoding="latin-1")
    result = CliRunner().invoke(main, ["inspect", str(folder)], catch_exceptions=False)
    assert result.exit_code == 5
    assert "config.json" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
@pytest.mark.parametrize("name", ["config.json", "best.safetensors"])
def test_a_pipe_in_the_place_of_a_file_is_refused_unread(finished, name):
    folder, _ = finished
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DataError, match=f"{name}: not a file"):
        restore(folder)


def test_a_run_without_its_result_says_how_to_get_there(tmp_path):
    with RunFolder(tmp_path).claim(configure("xor")):
        pass
    with pytest.raises(DataError, match=f"minisig train --resume {tmp_path}"):
        restore(tmp_path)
