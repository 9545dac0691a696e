"""minisig export: what it refuses; what it writes is in tests/bridges/test_onnx.py."""

import sys

import pytest

import minisig as ms


@pytest.fixture(scope="module")
def xor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "xor"
    ms.run(ms.configure("xor", {"iterations": 2}), folder)
    return folder


@pytest.mark.parametrize("name", ["xor", "xor.safetensors", "xor.onnx.gz", "onnx", ".onnx", "xor.ONNX"])
def test_a_file_that_is_not_called_onnx_is_refused_first(name, refused):
    assert "ends in .onnx" in refused(2, "export", "nosuch", name)


def test_a_file_in_no_folder_is_refused(xor, refused):
    assert "make it first" in refused(2, "export", xor, "no/such.onnx")
    assert "is empty" in refused(2, "export", "", "xor.onnx")


def test_a_model_that_is_not_there_is_refused(refused):
    assert "no such file" in refused(5, "export", "nosuch", "xor.onnx")
    assert "not finished" in refused(5, "export", ".", "xor.onnx")


def test_a_model_of_sequences_is_refused_by_its_layer(tmp_path, refused):
    config = ms.configure("copy-memory", {"iterations": 2, "network.hidden": [5], "batch_size": 4, "data.delay": 5})
    ms.run(config, tmp_path / "run")
    assert "layer embedding (Embedding) cannot be exported" in refused(2, "export", tmp_path / "run", "memory.onnx")


def test_without_onnx_it_says_what_to_install(xor, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install 'minisig[onnx]'" in refused(1, "export", xor, "xor.onnx")
