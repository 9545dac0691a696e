"""What all tests of commands share."""

import os
import subprocess
import sys

import pytest

from tests.cli.command import PYTHON_M, cli, tree


@pytest.fixture(scope="module", autouse=True)
def without_reports():
    """No plotly, so that a command writes no report, which takes longer than a tiny run; test_report.py has it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setitem(sys.modules, "plotly", None)
        yield


@pytest.fixture
def without_figures(monkeypatch):
    """No matplotlib, which takes longer than a tiny comparison."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to stand in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def refused(here):
    """Run what must fail with this exit code and leave no trace; its complaint."""

    def check(code, *args):
        before = tree(here)
        result = cli(*args)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        assert result.stderr.splitlines()[-1].startswith("Error: ")
        assert tree(here) == before
        return result.stderr

    return check


@pytest.fixture(scope="session")
def on_a_terminal():
    """Run minisig; (stdout, what stderr showed), stderr being a terminal of 80 columns and 24 lines."""
    pty = pytest.importorskip("pty")

    def shown(*args, env=None):
        ours, theirs = pty.openpty()
        own = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | (env or {})
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        command = [*PYTHON_M, *map(str, args)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=inherited | own) as process:
            os.close(theirs)
            read = b""
            try:
                while piece := os.read(ours, 65536):
                    read += piece
            except OSError:  # the other end is closed
                pass
            stdout = process.stdout.read()
        os.close(ours)
        assert process.returncode == 0
        return stdout, read.decode(errors="replace")

    return shown
