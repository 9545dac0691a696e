"""What all tests of commands share."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.cli.command import PYTHON_M, cli, tree
from tests.data.mirrors import serving


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


@pytest.fixture
def home(here, tmp_path, monkeypatch):
    """An empty place for data."""
    home = tmp_path / "home"
    monkeypatch.setenv("MINISIG_DATA", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return home


@pytest.fixture
def serve():
    """Addresses of folders on this machine's own server."""
    with ExitStack() as servers:
        yield lambda folder: servers.enter_context(serving(folder))


@pytest.fixture
def interruptible():
    """Ctrl-C is heard, which it is not by what was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
