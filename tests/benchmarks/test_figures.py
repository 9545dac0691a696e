"""The benchmarks that draw, on a machine that cannot."""

import sys

import pytest
from click.testing import CliRunner

from benchmarks import figures, paper


@pytest.mark.parametrize(("benchmark", "work"), [(figures, "run"), (paper, "compare")], ids=["figures", "paper"])
def test_without_matplotlib_nothing_is_trained_and_one_line_says_what_to_install(monkeypatch, benchmark, work):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(benchmark, work, lambda *args: pytest.fail("trained"))
    result = CliRunner().invoke(benchmark.main, [], catch_exceptions=False)
    assert (result.exit_code, result.output) == (1, "Error: figures need matplotlib: pip install 'minisig[viz]'\n")
