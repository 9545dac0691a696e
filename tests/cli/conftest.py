"""What all tests of commands share."""

import sys

import pytest


@pytest.fixture(scope="module", autouse=True)
def without_reports():
    """No plotly, so that a command writes no report, which takes longer than a tiny run; test_report.py has it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setitem(sys.modules, "plotly", None)
        yield
