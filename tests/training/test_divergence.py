"""Numbers that are no longer finite end a run, with where they were seen, and the last good checkpoint stays."""

from dataclasses import replace

import numpy as np
import pytest

from minisig.data import Split, load
from minisig.errors import Diverged
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.loop import Training
from minisig.training.run import resume, run
from tests.faults.runs import contents, difference, standing


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("log_every", [1, 1000])
@pytest.mark.parametrize("name", ["dense0.W", "dense1.b"])
def test_a_weight_that_is_not_finite_ends_the_run_and_the_last_good_checkpoint_stays(
    tmp_path, poison, log_every, name, bad
):
    settings = {"iterations": 20, "checkpoint_every": 1, "log_every": log_every, "validate_every": 1000}
    config = configure("xor", settings)
    good = {}

    def spoil(training):
        good.update(contents(tmp_path))
        training.net.params[name].flat[0] = bad

    poison(8, spoil)
    with pytest.raises(Diverged) as caught:
        run(config, tmp_path)
    assert caught.value.exit_code == 4
    assert "diverged at iteration 8" in str(caught.value)
    assert f"first seen in {name}" in str(caught.value)
    assert "lower the learning rate, now 0.05" in str(caught.value)
    assert contents(tmp_path)[CHECKPOINT] == good[CHECKPOINT]
    assert standing(config, tmp_path) == 7
    assert not (tmp_path / "summary.json").exists()


@pytest.mark.parametrize("iteration", [9, 20])
@pytest.mark.parametrize(("name", "slot"), [("digits", "u"), ("dropout", "m"), ("dropout", "v")])
def test_a_checkpoint_that_could_not_be_resumed_is_never_written(tmp_path, straight, poison, name, slot, iteration):
    config, _ = straight(name)
    poison(iteration, lambda training: training.optimizer.slots["dense1.W"][slot].fill(np.inf))
    with pytest.raises(Diverged):
        run(config, tmp_path / "run")
    assert standing(config, tmp_path / "run") == {9: 6, 20: 18}[iteration]


def test_a_run_that_diverged_can_be_resumed_from_its_last_good_checkpoint(tmp_path, straight, poison, monkeypatch):
    config, reference = straight("digits")
    poison(8, lambda training: training.net.params["dense0.W"].fill(np.inf))
    with pytest.raises(Diverged):
        run(config, tmp_path / "run")
    monkeypatch.undo()
    resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""


@pytest.mark.parametrize("rate", [1e30, 1e300])
def test_a_loss_without_bounds_ends_the_run_with_where_it_was_seen(tmp_path, rate):
    config = configure("digits", {"optimizer.learning_rate": rate, "optimizer.warmup": 0, "log_every": 1})
    with pytest.raises(Diverged, match=r"diverged at iteration 2: loss .*lower the learning rate, now 1e\+"):
        run(config, tmp_path)
    assert not (tmp_path / CHECKPOINT).exists()


def test_data_that_lead_to_nan_at_once_are_blamed_before_the_learning_rate(xor):
    data = load("xor")
    net = build_network(xor, data)
    wrong = replace(data, train=Split(np.full_like(data.train.x, np.nan), data.train.y))
    message = r"iteration 1: loss nan.*the output of dense0; look at the data and the initialization"
    with pytest.raises(Diverged, match=message):
        Training(net, wrong, xor).advance()
