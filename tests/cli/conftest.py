"""What all tests of commands share."""

import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="module", autouse=True)
def without_reports():
    """No plotly, so that a command writes no report, which takes longer than a tiny run; test_report.py has it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setitem(sys.modules, "plotly", None)
        yield


@pytest.fixture(scope="session")
def on_a_terminal():
    """Run minisig; (stdout, what stderr showed), stderr being a terminal of 80 columns and 24 lines."""
    pty = pytest.importorskip("pty")

    def shown(*args, env=None):
        ours, theirs = pty.openpty()
        own = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | (env or {})
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        command = [sys.executable, "-m", "minisig", *map(str, args)]
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
