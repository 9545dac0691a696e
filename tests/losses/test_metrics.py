"""Metrics have a better end, by which the best parameters are chosen."""

from minisig.losses.metrics import METRICS, metric


def test_more_is_better_of_these_alone():
    assert {name for name in METRICS if metric(name).rising} == {"r2", "recall"}
    assert not metric("loss").rising
    assert not metric("somebodys_own").rising
