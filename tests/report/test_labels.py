"""Metrics that nobody has thought of yet are shown as those we have."""

import json
import shutil

import pytest

from minisig.cli.display import Display
from minisig.cli.repeat import commands
from minisig.report.labels import in_percent, label
from minisig.report.metrics import read_metrics
from minisig.report.runs import read_paths
from minisig.report.sections import section
from minisig.report.summary import result

SUMMARY = {"test_loss": 0.25, "baselines": {}}


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


@pytest.fixture
def measured(one, records, tmp_path):
    """A run whose loss has other metrics."""
    folder = shutil.copytree(one, tmp_path / "measured")
    renamed = [{name.replace("_error", "_rmse"): value for name, value in record.items()} for record in records]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in renamed))
    summary = json.loads((folder / "summary.json").read_text())
    summary = {name.replace("_error", "_rmse"): value for name, value in summary.items()}
    (folder / "summary.json").write_text(json.dumps(summary | {"experiment": "mine"}))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"experiment": "mine"}))
    return folder


def test_a_report_draws_and_tabulates_every_metric_that_was_logged(measured, one):
    assert list(read_metrics(measured / "metrics.jsonl").scalars) == ["train_loss", "valid_loss", "valid_rmse"]
    found = section(*read_paths([measured]), commands)
    assert [(view.name, view.title) for view in found.views] == [("loss", "Loss"), ("rmse", "Rmse")]
    assert [row[0] for row in found.results.rows][:2] == ["test rmse", "test loss"]


def test_several_runs_are_compared_by_the_first_metric_they_have(measured, tmp_path):
    other = shutil.copytree(measured, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"seed": 1}))
    found = section(*read_paths([measured, other]), commands)
    assert found.results.head[1] == "test rmse, mean ± standard deviation"
    assert [view.title for view in found.views[:2]] == ["Test rmse of every run", "Training loss"]


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        ({"valid_loss": 0.5}, "valid loss 0.5"),
        ({"valid_loss": 0.5, "valid_error": 7.0}, "valid 7.0 %"),
        ({"valid_loss": 0.5, "valid_error": 7.0, "valid_recall": 25.0}, "recall 25.0 %"),
        ({"valid_loss": 0.5, "valid_rmse": 0.123456}, "valid rmse 0.123"),
    ],
)
def test_the_display_shows_the_last_of_them(metrics, shown):
    display = Display()
    display.show({"iteration": 1, "train_loss": 1.0, "gradient_norm": {"dense0": 1.0}} | metrics)
    assert display.valid == shown
