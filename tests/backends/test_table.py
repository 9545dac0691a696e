"""Backends by their names: ours, those of other projects, and what is none."""

import subprocess
import sys

import numpy as np
import pytest

from minisig import Training, configure, load_data
from minisig.backends import BACKENDS, Backend, get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.errors import MinisigError, UsageError
from minisig.models import build_network
from tests.support.projects import install

MINE = """
import numpy

from minisig.backends import Backend

class Mine(Backend):
    xp = numpy

def none(dtype, memory):
    return None

def limited(dtype, memory):
    backend = Mine(dtype)
    backend.memory = memory
    return backend
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """With three backends, installed; the table forgets it afterwards."""
    rows = {name: f"other:{what}" for name, what in (("mine", "Mine"), ("none", "none"), ("limited", "limited"))}
    install(tmp_path, MINE, {"minisig.backends": rows}, "other")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(BACKENDS, "rows", dict(BACKENDS.rows))
    vars(BACKENDS).pop("declared", None)
    yield
    vars(BACKENDS).pop("declared", None)
    sys.modules.pop("other", None)


def test_ours_are_numpy_and_cupy():
    assert [*BACKENDS][:2] == ["numpy", "cupy"]
    assert isinstance(get_backend(), NumpyBackend)


def test_nobody_imports_cupy_before_it_is_asked_for():
    code = (
        "import sys, minisig.backends as b; list(b.BACKENDS); b.get_backend('numpy')\n"
        "print([m for m in sys.modules if m.startswith('cupy') or m == 'minisig.backends.cupy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_class_of_another_project_is_a_backend_by_its_entry_point(project):
    backend = get_backend("mine", "float64")
    assert type(backend).__name__ == "Mine"
    assert backend.dtype == "float64"


def test_a_network_trains_on_it(project):
    settings = {"iterations": 20, "network.hidden": [10], "log_every": 1, "optimizer.clip": 0.5}
    outcomes = []
    for name in ("mine", "numpy"):
        config = configure("digits", settings | {"backend": name})
        data = load_data(config.data, seed=0)
        training = Training(build_network(config, data), data, config)
        outcomes.append([record["train_loss"] for record in training])
        assert type(training.net.backend) is type(get_backend(name))
    assert len(outcomes[0]) == 20
    np.testing.assert_allclose(*outcomes, rtol=1e-4)


def test_a_factory_is_told_the_memory_that_it_may_take(project):
    assert get_backend("limited", memory=0.5).memory == 0.5


def test_what_is_no_backend_is_refused_by_its_name(project):
    with pytest.raises(
        MinisigError, match=r"backend 'none': expected an instance of minisig\.backends\.Backend, got N"
    ):
        get_backend("none")


def test_a_name_nearly_right_is_suggested(project):
    with pytest.raises(UsageError, match="Did you mean 'limited'"):
        get_backend("limitd")


def test_a_program_adds_its_own(monkeypatch):
    monkeypatch.setitem(BACKENDS, "plain", type("Plain", (Backend,), {"xp": np}))
    assert get_backend("plain").dtype == "float32"
