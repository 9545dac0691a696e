"""Runs of every kind that nothing stops, and a training that is spoilt on its way."""

import numpy as np
import pytest

from minisig.data import Dataset
from minisig.data.sequences import Text
from minisig.experiments import configure
from minisig.training.loop import Training
from minisig.training.run import run
from tests.faults.runs import TINY, kind, outcome


@pytest.fixture(scope="session")
def straight(tmp_path_factory):
    """By kind, a configuration and the outcome of a run that nothing stops."""
    known = {}

    def of(name):
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            config = kind(name, folder / "words")
            run(config, folder / "run")
            known[name] = config, outcome(folder / "run")
        return known[name]

    return of


@pytest.fixture
def xor():
    return configure("xor", TINY)


@pytest.fixture
def poison(monkeypatch):
    """Do this to the training after the update of that iteration."""
    real = Training.step

    def at(iteration, spoil):
        def step(self, now):
            made = real(self, now)
            if now == iteration:
                spoil(self)
            return made

        monkeypatch.setattr(Training, "step", step)

    return at


@pytest.fixture
def text():
    """A language with a little grammar: each token is followed by one of two."""
    rng = np.random.default_rng(0)
    tokens = [0]
    for step in rng.integers(1, 3, 3000):
        tokens.append((tokens[-1] * 2 + step) % 7)
    tokens = np.array(tokens)
    return Dataset("toy", *(Text(tokens[i : i + 1001], steps=10) for i in (0, 1000, 2000)), classes=7)
