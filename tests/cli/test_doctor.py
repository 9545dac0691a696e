"""minisig doctor, and a backend that is not there, where CuPy is not installed; tests/cupy_host has the other cases."""

import importlib.metadata
import importlib.util
import json
import re

import pytest
from threadpoolctl import threadpool_info

from tests.cli.command import cli, tree

without_cupy = pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")


def test_doctor_tells_versions_blas_data_and_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "ptb").mkdir()
    done = cli("doctor", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert list(found) == ["packages", "extras", "cpu", "data", "gpu"]
    assert found["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert found["extras"]["data"] == "installed"
    assert found["cpu"]["cores"] >= 1
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    for i, pool in enumerate(pools):
        told = found["cpu"][f"blas {i}"]
        assert told.startswith(f"{pool['internal_api']} {pool['version']}")
        assert told.endswith(f", {pool['num_threads']} threads")
        assert pool.get("architecture", "") in told
    assert found["data"]["mnist"] == "not here: minisig data fetch mnist"
    assert found["data"]["ptb"] == "not here: minisig data fetch ptb"
    assert found["data"]["kept in"] == str(tmp_path)
    assert next(iter(found["gpu"])) == "cupy"


@pytest.mark.parametrize("there", [[], ["train"], ["train", "valid", "test"]], ids=["none", "one", "all"])
def test_doctor_and_data_list_agree_on_what_is_here(tmp_path, monkeypatch, there):
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "ptb").mkdir()
    for part in there:
        (tmp_path / "ptb" / f"ptb.{part}.txt").touch()
    expected = str(tmp_path / "ptb") if len(there) == 3 else "not here: minisig data fetch ptb"
    assert json.loads(cli("doctor", "--json").stdout)["data"]["ptb"] == expected
    assert expected in cli("data", "list").stdout


def test_a_kind_of_cpu_that_blas_is_told_to_take_this_one_for_is_told(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    told = json.loads(cli("doctor", "--json").stdout)["cpu"]
    assert told["core type"] == "Nehalem, by OPENBLAS_CORETYPE; products may be faster without it"
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    assert "core type" not in json.loads(cli("doctor", "--json").stdout)["cpu"]


def test_doctor_in_words_says_the_same():
    words = cli("doctor").stdout
    for part, lines in json.loads(cli("doctor", "--json").stdout).items():
        assert f"{part}\n" in words
        for name, value in lines.items():
            assert re.search(rf"^  {re.escape(name)} +{re.escape(str(value))}$", words, re.MULTILINE)


@without_cupy
@pytest.mark.parametrize("command", [["train", "xor"], ["inspect", "xor"], ["compare", "xor", "--seeds", "1"]])
def test_the_backend_that_is_not_there_is_not_replaced(here, command):
    done = cli(*command, "--backend", "cupy")
    assert done.exit_code == 3
    assert "CuPy is not installed: pip install 'minisig[cuda13x]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(here.iterdir()) == []


@without_cupy
def test_a_run_is_not_resumed_on_a_backend_that_is_not_there(tmp_path):
    run = tmp_path / "run"
    assert cli("train", "xor", "--iterations", "2", "--out", run).exit_code == 0
    before = tree(run)
    done = cli("train", "--resume", run, "--iterations", "4", "--backend", "cupy")
    assert done.exit_code == 3
    assert tree(run) == before
