"""Training: selection, clipping, divergence, and that watching changes nothing."""

from math import inf

import numpy as np
import pytest

from minisig.errors import Diverged
from minisig.experiments import configure
from minisig.gradients import global_norm
from minisig.layers import Dropout
from minisig.models import build_network
from minisig.network import Network
from minisig.training.evaluate import evaluate
from minisig.training.loop import Training


def training(digits, **overrides):
    settings = {"network.hidden": [20, 20], "iterations": 60, "validate_every": 20, "log_every": 10}
    config = configure("digits", settings | {name.replace("__", "."): value for name, value in overrides.items()})
    return Training(build_network(config, digits), digits, config)


def test_records_come_at_the_first_the_logged_the_validated_and_the_last_iteration(digits):
    records = list(training(digits, iterations=47, log_every=10, validate_every=25))
    assert [r["iteration"] for r in records] == [1, 10, 20, 25, 30, 40, 47]
    assert [r["iteration"] for r in records if "valid_loss" in r] == [25, 47]
    assert set(records[0]["gradient_norm"]) == {"dense0", "dense1", "dense2"}
    assert set(records[0]["activation_mean"]) == set(records[0]["activation_std"]) == {"sigmoid0", "sigmoid1"}


def test_a_record_tells_the_norms_and_activities_of_its_own_step(digits):
    watched = training(digits)
    batch = watched.batches.at(1)
    trace = build_network(watched.config, digits).trace(batch.x, batch.labels)
    record = next(iter(watched))
    norms = trace.gradient_norms()
    assert record["train_loss"] == float(trace.loss)
    assert record["gradient_norm"]["dense1"] == pytest.approx(np.hypot(norms["dense1.W"], norms["dense1.b"]))
    assert record["activation_mean"]["sigmoid0"] == float(trace.outputs["sigmoid0"].mean())
    assert record["activation_std"]["sigmoid1"] == float(trace.outputs["sigmoid1"].std())


def test_another_seed_shuffles_the_batches_otherwise(digits):
    first, again, other = (training(digits, seed=seed).batches.at(1).x for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_statistics_of_every_layer_are_logged_where_they_are_asked_for(digits):
    records = list(training(digits, statistics_every=25))
    assert [r["iteration"] for r in records if "statistics" in r] == [1, 25, 50]
    first, second = records[0]["statistics"]
    assert (first["name"], second["name"]) == ("dense0", "dense1")
    assert second["logit_std"] == pytest.approx(1.25, rel=0.3)
    assert abs(second["entropy"] - second["theory_entropy"]) < 0.1
    assert not any("statistics" in r for r in training(digits))


def test_watching_every_step_changes_no_weight(digits):
    blind = training(digits, log_every=1000)
    watched = training(digits, log_every=1, statistics_every=1)
    assert len(list(blind)) < len(list(watched))
    for name, w in blind.net.params.items():
        np.testing.assert_array_equal(w, watched.net.params[name])


def test_the_parameters_of_least_validation_loss_are_kept(digits):
    up_and_down = {"optimizer__learning_rate": 3.0, "optimizer__schedule": "constant"}
    run = training(digits, iterations=200, validate_every=10, **up_and_down)
    losses = {r["iteration"]: r["valid_loss"] for r in run if "valid_loss" in r}
    assert run.best_iteration == min(losses, key=losses.get) < 200
    assert run.best_score.loss == min(losses.values())
    run.net.load(run.best)
    assert evaluate(run.net, digits.valid) == run.best_score


def test_where_nothing_is_held_out_the_last_parameters_are_kept(digits):
    up_and_down = {"optimizer__learning_rate": 3.0, "optimizer__schedule": "constant", "data__hold_out": False}
    run = training(digits, iterations=200, validate_every=10, **up_and_down)
    losses = [r["valid_loss"] for r in run if "valid_loss" in r]
    assert run.best_iteration == 200
    assert run.best_score.loss == losses[-1] > min(losses)
    for name, w in run.net.params.items():
        np.testing.assert_array_equal(run.best[name], w)


def test_clipping_bounds_the_update_and_logs_the_norm_before_it(digits):
    run = training(digits, optimizer__clip=0.01, optimizer__learning_rate=1.0, optimizer__warmup=0, iterations=1)
    before = {name: w.copy() for name, w in run.net.params.items()}
    (record,) = run
    moved = global_norm({name: float(np.linalg.norm(w - before[name])) for name, w in run.net.params.items()})
    assert moved == pytest.approx(0.01, rel=1e-4)
    assert record["gradient_norm_total"] == pytest.approx(global_norm(record["gradient_norm"]))
    assert record["gradient_norm_total"] > 0.1
    assert record["gradient_norm_clipped"] == pytest.approx(0.01)


def test_clipping_comes_to_the_same_whether_gradients_are_made_or_stay_factored(digits, monkeypatch):
    ends = []
    for small in (0, 20 * 20, inf):  # none of them, all but the first matrix, all
        monkeypatch.setattr("minisig.training.loop.SMALL", small)
        run = training(digits, dtype="float64", optimizer__clip=0.01, iterations=40)
        list(run)
        ends.append(run.net.params)
    for end in ends[1:]:
        for parameter, w in end.items():
            # Forty small steps on a smooth loss multiply float64's rounding, 1e-16, by a few hundred at most.
            np.testing.assert_allclose(w, ends[0][parameter], rtol=0, atol=1e-13)


def test_divergence_is_an_error_that_says_what_to_do(digits):
    with pytest.raises(Diverged, match=r"diverged at iteration .*lower the learning rate, now 1e\+30"):
        list(training(digits, optimizer__learning_rate=1e30))


def test_adam_learns_too(digits):
    run = training(digits, optimizer__name="adam", optimizer__learning_rate=0.01, optimizer__warmup=0, iterations=300)
    list(run)
    assert run.best_score.error < 10


def test_dropout_is_drawn_anew_at_every_iteration_and_off_in_validation(digits):
    run = training(digits, network__dropout=0.5)
    first, _ = run.step(1)
    list(run)
    plain = training(digits).net
    plain.load(run.net.params)
    assert evaluate(run.net, digits.valid) == evaluate(plain, digits.valid)
    # The same iteration draws the same masks, whatever was drawn in between.
    twin = training(digits, network__dropout=0.5)
    again, _ = twin.step(1)
    np.testing.assert_array_equal(first.outputs["dropout0"], again.outputs["dropout0"])
    other, _ = twin.step(2)
    assert ((other.outputs["dropout0"] == 0) != (again.outputs["dropout0"] == 0)).any()


def test_dropout_acts_in_a_network_of_ones_own_whatever_the_configuration_says(digits):
    plain = training(digits).net
    layers = [*plain.layers.items()]
    net = Network([layers[0], ("mine", Dropout(0.5)), *layers[1:]], plain.backend)
    trace, _ = Training(net, digits, configure("digits", {"network.hidden": [30]})).step(1)
    silenced = trace.outputs["mine"] == 0
    assert silenced.mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(silenced.size))
