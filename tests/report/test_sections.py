"""A section of the report: its heading, its views and tables, and what it leaves out."""

import json
import re
import shutil

import pytest

from minisig.cli.repeat import commands
from minisig.report.metrics import read_metrics
from minisig.report.runs import read_paths
from minisig.report.sections import section


def test_runs_without_what_their_experiment_is_compared_by_are_listed_without_it(one, written, records):
    summary = json.loads((one / "summary.json").read_text())
    summary["test_perplexity"] = summary.pop("test_error")
    runs, _ = read_paths([written(records, {"seed": seed}, summary, name=str(seed)) for seed in (0, 1)])
    listed = section(runs, [], lambda runs: []).runs
    assert [row[listed.head.index("test error %")] for row in listed.rows] == ["–", "–"]


def test_thinning_is_said(written):
    lines = [{"iteration": i, "train_loss": 1.0, "gradient_norm": {"dense0": 1.0}} for i in range(1, 2001)]
    ((run,), _) = read_paths([written(lines)])
    notes = " ".join(section([run], [], lambda runs: []).notes)
    assert "Of 2,000 logged iterations a curve is drawn through at most 1,000" in notes
    assert "slider shows 100 of the 2,000" in notes


def test_nothing_is_said_of_thinning_where_all_is_drawn(one):
    runs, _ = read_paths([one])
    assert section(runs, [], lambda runs: []).notes == []


def test_a_validation_part_that_was_trained_on_is_told(written, records):
    runs, _ = read_paths([written(records, {"data.hold_out": False})])
    (note,) = section(runs, [], lambda runs: []).notes
    assert note.startswith("With data.hold_out=false the validation part was trained on too")


def test_a_seed_that_was_run_again_counts_once_and_is_told(one, several, tmp_path):
    shutil.copytree(one, tmp_path / "again")
    runs, _ = read_paths([several, tmp_path / "again"])
    found = section(runs, [], lambda runs: [])
    assert found.heading == "digits: 2 initializations, 4 runs"
    assert [len(row[1].split(", ")) for row in found.views[0].table.rows] == [2, 2]
    (note,) = found.notes
    assert re.fullmatch(r"Of runs with .* the last to finish counts\. Left out: (again|random\+ep-seed0-\w+)\.", note)


def test_two_runs_of_the_same_seed_are_reported_as_one(one, tmp_path):
    runs, _ = read_paths([one, shutil.copytree(one, tmp_path / "again")])
    found = section(runs, [], lambda runs: [])
    assert found.heading == "digits, random+ep, seed 0"
    assert found.notes[0].endswith(("Left out: again.", "Left out: one."))


def test_the_network_is_named_where_all_runs_have_it(several, written, records):
    runs, _ = read_paths([several])
    assert section(runs, [], lambda runs: []).what == "digits · mlp, hidden 12-8-8"
    runs, _ = read_paths([several, written(records, {"network.hidden": [20] * 3})])
    assert section(runs, [], lambda runs: []).what == "digits"


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
