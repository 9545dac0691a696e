"""Without the library that a bridge leads to, the message says what to install."""

import importlib
import sys

import pytest
from click.testing import CliRunner

from minisig.cli import main


@pytest.mark.parametrize(("bridge", "library"), [("sklearn", "sklearn.base"), ("torch", "torch")])
def test_a_bridge_without_its_library_says_what_to_install(bridge, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"minisig.bridges.{bridge}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'minisig\[{bridge}\]'"):
        importlib.import_module(f"minisig.bridges.{bridge}")


def test_a_run_with_a_log_does_not_begin_without_tensorboardx(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    result = CliRunner().invoke(main, ["train", "xor", "--tensorboard", "--out", str(tmp_path / "run")])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install 'minisig[tensorboard]'" in result.stderr
    assert not (tmp_path / "run").exists()
