"""A run in words."""

import pytest

from minisig.report.summary import result

SUMMARY = {"test_loss": 0.25, "baselines": {}}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "test loss 0.2500"),
        ({"test_error": 2.3456}, "test error 2.35 %, test loss 0.2500"),
        ({"test_rmse": 0.1234567, "test_r2": 0.9}, "test rmse 0.123457, r2 0.9, test loss 0.2500"),
        (
            {"test_perplexity": 1.05, "test_recall": 12.345, "baselines": {"memoryless": 1.06064}},
            "test perplexity 1.05 (memoryless 1.06064), recall 12.3 %, test loss 0.2500",
        ),
    ],
)
def test_a_result_has_every_metric_of_the_test_part(more, words):
    assert result(SUMMARY | more) == words
