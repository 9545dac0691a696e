"""A run that ends when nothing has become better for long enough."""

import json

import numpy as np
import pytest

from minisig.experiments import suited
from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here
from minisig.training.run import resume, run
from tests.cli.command import cli
from tests.faults.runs import begun, difference, outcome

HASTY = {
    "iterations": 400,
    "validate_every": 6,
    "log_every": 5,
    "patience": 15,
    "checkpoint_every": 4,
    "batch_size": 10,
    "network.hidden": [12],
    "optimizer.learning_rate": 0.1,
    "optimizer.schedule": "constant",
    "seed": 3,
}


@pytest.fixture(scope="session")
def noise(tmp_path_factory):
    """Labels that have nothing to do with the inputs: what is learned of them is soon of no use."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("noise") / "noise.csv"
    columns = (*rng.normal(size=(2, 60)).tolist(), rng.choice(["x", "y", "z"], 60))
    rows = [f"{a!r},{b!r},{label}" for a, b, label in zip(*columns, strict=True)]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    return str(path)


@pytest.fixture(scope="session")
def hasty(noise, tmp_path_factory):
    config, _ = suited(noise, HASTY)
    folder = tmp_path_factory.mktemp("hasty") / "run"
    return config, folder, run(config, folder)


def records(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_run_ends_so_long_after_its_best_validation(hasty):
    config, folder, summary = hasty
    end = summary["stopped_iteration"]
    assert end == summary["best_iteration"] + 15 < config.iterations
    assert summary["iterations"] == config.iterations
    losses = {record["iteration"]: record["valid_loss"] for record in records(folder) if "valid_loss" in record}
    assert [*losses] == [*range(6, end + 1, 6)]
    assert min(losses, key=losses.get) == summary["best_iteration"]
    assert losses[summary["best_iteration"]] == summary["valid_loss"]


def test_its_last_iteration_is_logged_and_told(hasty):
    _, folder, summary = hasty
    last = records(folder)[-1]
    assert last["iteration"] == summary["stopped_iteration"]
    assert [row["gradient_norm_last"] for row in summary["layers"]] == [*last["gradient_norm"].values()]
    shown = cli("train", "--resume", folder).stdout
    assert f"iteration 1  iteration {summary['stopped_iteration']}\n" in shown
    assert f"; stopped at iteration {summary['stopped_iteration']}, after 15 without a better one\n" in shown


def test_without_patience_it_goes_on_to_its_end(noise, hasty):
    config, _ = suited(noise, HASTY | {"patience": None, "iterations": 150})
    summary = run(config)
    assert "stopped_iteration" not in summary
    assert hasty[2]["stopped_iteration"] < 150


def test_it_ends_with_the_same_bits_wherever_it_was_interrupted(hasty, tmp_path):
    config, folder, summary = hasty
    reference = outcome(folder)
    end = summary["stopped_iteration"]
    for iteration in sorted({*range(1, end, 5), *range(end - 7, end)}):
        resume(begun(config, tmp_path / f"{iteration}", iteration))
        assert difference(tmp_path / f"{iteration}", reference) == "", iteration


def test_more_iterations_change_nothing_of_what_has_stopped(hasty, tmp_path):
    config, _, summary = hasty
    run(config, tmp_path / "run")
    more = resume(tmp_path / "run", iterations=500)
    own = ("iterations", "seconds")
    assert {name: more[name] for name in more if name not in own} == {
        name: summary[name] for name in summary if name not in own
    }


@pytest.mark.parametrize(("patience", "every"), [(1, 10), (5, 10), (10, 10), (11, 10)])
def test_nothing_ends_before_it_was_validated_again(noise, patience, every):
    more = {"patience": patience, "validate_every": every, "iterations": 200, "data.hold_out": True}
    summary = run(suited(noise, HASTY | more)[0])
    assert summary["stopped_iteration"] == summary["best_iteration"] + max(patience, every)


def test_where_nothing_is_held_out_there_is_nothing_to_be_impatient_about(noise):
    more = {"patience": 3, "validate_every": 10, "iterations": 45, "data.hold_out": False}
    summary = run(suited(noise, HASTY | more)[0])
    assert summary["best_iteration"] == 45
    assert "stopped_iteration" not in summary


def test_a_comparison_of_runs_that_stop_at_different_iterations(noise, tmp_path):
    settings = {name: value for name, value in HASTY.items() if name != "seed"}
    jobs = plan("table", ["random+ep", "glorot"], 2, {**settings, "data.path": noise, "threads": 1})
    found = compare(jobs, tmp_path / "all", Here)
    ends = {result.summary["stopped_iteration"] for row in found.rows for result in row.results}
    assert len(ends) > 1
    assert not found.failures
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "all").glob("*-seed*/*")}
    again = compare(jobs, tmp_path / "all", Here)
    assert [row.values for row in again.rows] == [row.values for row in found.rows]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    pytest.importorskip("plotly")
    assert cli("report", tmp_path / "all", "--out", tmp_path / "all.html").exit_code == 0
    assert "4 runs" in (tmp_path / "all.html").read_text(encoding="utf-8")
