"""What many tests share."""

import os

# Before NumPy comes: every core has its process, and the tests' matrices are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from minisig.data import Dataset, load
from minisig.experiments import results
from minisig.training.run import run
from tests.support import shop

# The same examples every time; `pytest --hypothesis-profile default` goes looking for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_terminal_summary(terminalreporter):
    """What tests/cupy_host did not run must not look as if it had; its own conftest.py is known to the workers only."""
    reasons = {report.longrepr[2] for report in terminalreporter.stats.get("skipped", []) if report.longrepr}
    for reason in sorted(reason for reason in reasons if "no GPU" in reason):
        terminalreporter.write_line(f"tests marked gpu: {reason.removeprefix('Skipped: ')}")


@pytest.fixture(scope="session")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="session")
def batch(digits):
    """Fifty real images and their labels."""
    return digits.train.x[:50], digits.train.y[:50]


@pytest.fixture(scope="session")
def own(tmp_path_factory):
    """A model of this kind, trained on a table of one's own."""
    known = {}

    def of(kind):
        if kind not in known:
            known[kind] = shop.trained(kind, tmp_path_factory.mktemp(kind))
        return known[kind]

    return of


@pytest.fixture
def fail(monkeypatch):
    """Make the runs of these (init, seed) fail."""

    def choose(failures):
        def run_or_fail(config, *args, **kwargs):
            if error := failures.get((config.network.init, config.seed)):
                raise error
            return run(config, *args, **kwargs)

        monkeypatch.setattr(results, "run", run_or_fail)

    return choose
