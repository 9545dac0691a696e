"""Every peer is timed on the same mathematics: after some steps from the same weights it has the same weights."""

import subprocess
import sys
from itertools import count

import numpy as np
import pytest

from benchmarks.speed import gemms
from benchmarks.speed.shares import KINDS, WARM_UP, shares
from benchmarks.speed.workloads import (
    BARE,
    CELLS,
    COMPILED,
    GEMMS,
    JAX,
    OURS,
    SKLEARN,
    TANH,
    TORCH,
    TORCH_GEMMS,
    WORKLOADS,
    build,
    maker,
)
from minisig.backends import Backend
from minisig.experiments import configure
from minisig.training.loop import Training

STEPS = 3
OTHERS = (COMPILED, TANH, GEMMS, TORCH_GEMMS)  # that do something else, or too long for a test
# The workloads' own settings, smaller where only the width would change.
SMALL = {
    "mlp-shallow": {"network.hidden": (60,)},
    "mlp-deep": {"network.hidden": (40, 30, 20)},
    "copy-rnn-20": {"data.delay": 20},
    "copy-lstm": {"network.model": "lstm", "data.delay": 20},
    "ptb-rnn": {"data.vocabulary": 200, "data.steps": 12, "network.hidden": (30,)},
    "text-lstm": {
        **{"network.model": "lstm", "network.hidden": (30,), "network.dropout": 0.0},
        **{"data.steps": 12, "batch_size": 8},
    },
    "digits": {"network.hidden": (30,) * 3},
}
MODULES = {TORCH: "torch", CELLS: "torch", JAX: "jax", SKLEARN: "sklearn"}


def small(name):
    config = configure(WORKLOADS[name].config.experiment, {**BARE, **SMALL[name], "dtype": "float64"})
    return build(config)


def updates(name, peer, steps=STEPS):
    """What a peer's steps have added to every parameter."""
    case = small(name)
    start = {key: w.copy() for key, w in case.net.params.items()}
    step = maker(WORKLOADS[name], peer)(case)
    for _ in range(steps):
        step.run()
    return {key: w - start[key] for key, w in step.params().items()}


@pytest.mark.parametrize(
    ("name", "peer"),
    [(name, peer) for name in SMALL for peer in WORKLOADS[name].peers if peer not in OTHERS],
)
@pytest.mark.filterwarnings("default")  # the peers' own
def test_a_peer_makes_the_same_steps(name, peer):
    library = pytest.importorskip(MODULES[peer], reason="needs the extra bench")
    if peer == JAX:
        library.config.update("jax_enable_x64", True)
    ours, theirs = updates(name, OURS), updates(name, peer)
    assert ours.keys() == theirs.keys()
    for key, update in ours.items():
        # PyTorch puts 1e-6 under the norm by which it clips.
        np.testing.assert_allclose(theirs[key], update, rtol=0, atol=2e-6 * abs(update).max(), err_msg=key)


@pytest.mark.parametrize("name", SMALL)
def test_our_step_is_the_training_loop_s(name):
    case = small(name)
    start = {key: w.copy() for key, w in case.net.params.items()}
    training = Training(case.net, case.data, case.config)
    for iteration in range(1, STEPS + 1):
        training.step(iteration)
    for key, update in updates(name, OURS).items():
        assert update.any(), key
        np.testing.assert_array_equal(update, case.net.params[key] - start[key], err_msg=key)


@pytest.mark.parametrize("name", ["mlp-shallow", "mlp-deep", "copy-rnn-20", "copy-lstm", "ptb-rnn"])
def test_the_limit_has_all_products_of_a_step_and_no_others(name):
    case = small(name)
    weights = {key: w for key, w in case.net.params.items() if key.rpartition(".")[2].startswith("W")}
    x = case.batches[0].x
    tokens = x.dtype.kind == "i"
    rows = x.size if tokens else len(x)
    expected = 0
    for i, (key, W) in enumerate(weights.items()):
        unneeded = 0
        if key.endswith("Wh"):
            unneeded = x.shape[1]  # of the state before the first step
        elif i == 0 and not tokens:
            unneeded = rows  # of the images
        expected += (3 * rows - unneeded) * W.size
    found = sum(a.shape[0] * a.shape[1] * b.shape[1] for a, b, _ in gemms.products(case))
    assert found == expected


def test_pytorch_is_given_the_same_products():
    pytest.importorskip("torch", reason="needs the extra bench")
    ours, theirs = gemms.step_of(small("copy-rnn-20")), gemms.pytorch_step_of(small("copy-rnn-20"))
    for made in theirs.params().values():
        made[...] = np.nan
    for step in (ours, theirs):
        step.run()
    for name, made in ours.params().items():
        np.testing.assert_allclose(theirs.params()[name], made, rtol=0, atol=1e-12 * abs(made).max(), err_msg=name)


def test_all_work_of_a_backend_has_a_kind():
    work = {name for name, member in vars(Backend).items() if callable(member) and not name.startswith("_")}
    outside = {"asarray", "to_host", "floats", "bilinear"}  # of data, not of a step
    assert sorted(name for names in KINDS.values() for name in names) == sorted(work - outside)


@pytest.mark.parametrize("name", SMALL)
def test_a_step_whose_time_is_told_apart_is_the_same_step(name, monkeypatch):
    monkeypatch.setattr("benchmarks.speed.shares.perf_counter", count().__next__)  # a clock that moves when it is read
    case = small(name)
    start = {key: w.copy() for key, w in case.net.params.items()}
    found = shares(case, STEPS)
    assert sum(found.values()) == pytest.approx(1)
    assert min(found["products"], found["softmax"], found["updates"]) > 0
    for key, update in updates(name, OURS, WARM_UP + STEPS).items():
        np.testing.assert_array_equal(case.net.params[key] - start[key], update, err_msg=key)


def test_no_peer_is_imported_before_it_is_asked_for():
    code = "import sys, benchmarks.speed.worker; print([m for m in ('torch', 'jax', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
