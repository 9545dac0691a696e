"""Metrics that nobody has thought of yet are called as those we have."""

import pytest

from minisig.report.labels import in_percent, label


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("test_error", "test error %"),
        ("test_perplexity", "test perplexity"),
        ("valid_recall", "validation recall %"),
        ("train_loss", "training loss"),
        ("valid_top_5_error", "validation top_5_error"),
        ("test_r2", "test r2"),
    ],
)
def test_a_metric_is_called_by_its_part_and_its_name(metric, words):
    assert label(metric) == words
    assert in_percent(metric) == words.endswith("%")
