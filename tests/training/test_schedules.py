import pytest

from minisig.training.config import OptimizerConfig
from minisig.training.schedules import learning_rate


def rates(**config):
    return [learning_rate(OptimizerConfig(learning_rate=0.5, **config), t, 10) for t in range(1, 11)]


def test_constant_stays():
    assert rates() == [0.5] * 10


def test_linear_falls_by_equal_steps_and_never_reaches_zero():
    assert rates(schedule="linear") == pytest.approx([0.5 * (10 - t) / 10 for t in range(10)])


def test_warm_up_rises_to_the_full_rate_and_stays():
    assert rates(warmup=4) == pytest.approx([0.125, 0.25, 0.375, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])


def test_warm_up_multiplies_the_linear_fall():
    both = [a * b / 0.5 for a, b in zip(rates(warmup=4), rates(schedule="linear"), strict=True)]
    assert rates(warmup=4, schedule="linear") == pytest.approx(both)
