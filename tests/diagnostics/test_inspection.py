"""minisig inspect: every layer of one network on one batch, or of every initialization side by side."""

import json

import numpy as np
import pytest

from minisig.experiments import configure
from minisig.training.restore import restore
from minisig.training.run import run
from tests.cli.command import cli


def test_inspect_looks_into_a_finished_run(tmp_path):
    folder = tmp_path / "run"
    run(configure("digits", {"network.hidden": [12, 12], "iterations": 40}), folder)
    result = cli("inspect", folder, "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    _, _, net = restore(folder)
    assert found["layers"][1]["weight_frobenius"] == pytest.approx(np.linalg.norm(net.params["dense1.W"]), rel=1e-6)
    assert [row["to"] for row in found["bounds"]] == ["sigmoid1", "sigmoid0"]


def test_inspect_shows_every_initialization_side_by_side():
    result = cli("inspect", "digits", "--init", "all")
    assert result.exit_code == 0
    header, *rows = result.stdout.splitlines()[2:11]
    assert header.split()[3:] == ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun"]
    first, last = ([float(value) for value in row.split()[1:]] for row in (rows[0], result.stdout.splitlines()[11]))
    assert 0.2 < first[0] / last[0] < 5
    assert 0.2 < first[1] / last[1] < 5
    assert all(a / b < 1e-2 for a, b in zip(first[2:], last[2:], strict=True))
    found = json.loads(cli("inspect", "--init", "all", "--json").stdout)
    assert found["inits"]["lecun"]["verdict"].startswith("vanishes")
    assert found["inits"]["random+ep"]["verdict"] == "alive"
