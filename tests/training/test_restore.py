"""A run brought back from its folder, and folders that are not what they seem."""

import json
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


def test_inspect_looks_into_a_finished_run(finished):
    folder, _ = finished
    result = CliRunner().invoke(main, ["inspect", str(folder), "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    _, _, net = restore(folder)
    assert found["layers"][1]["weight_frobenius"] == pytest.approx(np.linalg.norm(net.params["dense1.W"]), rel=1e-6)
    assert [row["to"] for row in found["bounds"]] == ["sigmoid1", "sigmoid0"]


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


def test_inspect_shows_every_initialization_side_by_side():
    result = CliRunner().invoke(main, ["inspect", "digits", "--init", "all"], catch_exceptions=False)
    assert result.exit_code == 0
    header, *rows = result.stdout.splitlines()[2:11]
    assert header.split()[3:] == ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun"]
    first, last = ([float(value) for value in row.split()[1:]] for row in (rows[0], result.stdout.splitlines()[11]))
    assert 0.2 < first[0] / last[0] < 5
    assert 0.2 < first[1] / last[1] < 5
    assert all(a / b < 1e-2 for a, b in zip(first[2:], last[2:], strict=True))
    found = json.loads(CliRunner().invoke(main, ["inspect", "--init", "all", "--json"]).stdout)
    assert found["inits"]["lecun"]["verdict"].startswith("vanishes")
    assert found["inits"]["random+ep"]["verdict"] == "alive"


def test_inspect_json_has_the_promised_keys():
    found = json.loads(CliRunner().invoke(main, ["inspect", "--hidden", "3x10", "--json"]).stdout)
    promised = {
        "name",
        "shape",
        "logit_mean",
        "logit_std",
        "entropy",
        "saturated",
        "weight_frobenius",
        "weight_spectral",
    }
    assert all(promised | {"gradient_norm"} <= row.keys() for row in found["layers"])
    for row in found["bounds"]:
        assert list(row) == ["from", "to", "measured", "product_with_real_derivatives", "spectral", "frobenius"]
        numbers = list(row.values())[2:]
        assert numbers == sorted(numbers)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
@pytest.mark.parametrize("name", ["config.json", "best.safetensors"])
def test_a_pipe_in_the_place_of_a_file_is_refused_unread(finished, name):
    folder, _ = finished
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DataError, match=f"{name}: not a file"):
        restore(folder)


def test_a_run_without_its_result_says_how_to_get_there(tmp_path):
    RunFolder(tmp_path).claim(configure("xor"))
    with pytest.raises(DataError, match=f"minisig train --resume {tmp_path}"):
        restore(tmp_path)
