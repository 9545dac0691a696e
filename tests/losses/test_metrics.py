"""Metrics have a name, a unit, and a better end."""

from minisig.losses import METRICS, metric_of
from minisig.losses.metrics import headline


def test_a_metric_is_called_by_its_part_of_the_data():
    assert str(metric_of("test_error")) == "test error %"
    assert str(metric_of("valid_recall")) == "validation recall %"
    assert metric_of("test_error").shown(3.14159) == "3.14 %"


def test_one_that_nobody_knows_is_called_as_it_is():
    assert str(metric_of("test_far_out")) == "test far out"


def test_more_is_better_of_these_alone():
    assert {name for name, metric in METRICS.items() if metric.rising} == {"r2", "recall"}


def test_the_headline_is_what_people_ask_for_first():
    assert headline({"test_loss": 1.0, "test_error": 3.0}) == "test_error"
    assert headline({"test_loss": 1.0, "test_error": 3.0, "test_perplexity": 9.0}) == "test_perplexity"
    assert headline({"test_loss": 1.0}) == "test_loss"
