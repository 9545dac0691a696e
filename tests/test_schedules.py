"""Learning rates over the iterations."""

from itertools import pairwise

import pytest

from minisig.data import load
from minisig.experiments import configure
from minisig.models import build_network
from minisig.schedules import SCHEDULES, Cosine, Linear, Plateau, Schedule, Step
from minisig.training.loop import Training


def factors(schedule, iterations=10):
    return [schedule.factor(t, iterations) for t in range(1, iterations + 1)]


def test_constant_stays():
    assert factors(Schedule()) == [1.0] * 10


def test_linear_falls_by_equal_steps_and_never_reaches_zero():
    assert factors(Linear()) == pytest.approx([(10 - t) / 10 for t in range(10)])


def test_cosine_falls_slowly_at_both_ends():
    found = factors(Cosine(), 100)
    assert (found[0], found[50]) == (1.0, pytest.approx(0.5))
    assert 0 < found[-1] < 1e-3
    steps = [a - b for a, b in pairwise(found)]
    assert min(steps) > 0
    assert max(steps) == pytest.approx(steps[49], rel=1e-3)


def test_step_falls_after_so_many_iterations():
    assert factors(Step(decay=0.5, decay_every=4)) == [1.0] * 4 + [0.5] * 4 + [0.25] * 2


def test_plateau_falls_when_the_loss_no_longer_does():
    schedule = Plateau(decay=0.5, patience=2)
    seen = []
    for loss in (3.0, 2.0, 2.0, 1.0, 1.5, 1.0, 0.9, 1.0, 1.0, 1.0, 1.0):
        schedule.validated(loss)
        seen.append(schedule.factor(1, 1))
    assert seen == [1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125]


def test_only_those_that_know_the_end_forbid_a_longer_run():
    assert [name for name, row in SCHEDULES.items() if row.knows_the_end] == ["linear", "cosine"]


def rates(**settings):
    given = {f"optimizer.{name}": value for name, value in {"schedule": "constant", "warmup": 0, **settings}.items()}
    config = configure("xor", {"iterations": 10, "optimizer.learning_rate": 0.5, **given})
    data = load("xor")
    training = Training(build_network(config, data), data, config)
    return [training.learning_rate(t) for t in range(1, 11)]


def test_warm_up_rises_to_the_full_rate_and_stays():
    assert rates(warmup=4) == pytest.approx([0.125, 0.25, 0.375, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])


def test_warm_up_multiplies_the_schedule():
    both = [a * b / 0.5 for a, b in zip(rates(warmup=4), rates(schedule="linear"), strict=True)]
    assert rates(warmup=4, schedule="linear") == pytest.approx(both)
