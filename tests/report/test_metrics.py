"""metrics.jsonl as arrays: what the run logged, or a message that names the line."""

import json

import numpy as np
import pytest

from minisig.errors import DataError
from minisig.report.metrics import read_metrics

LINE = {"iteration": 1, "train_loss": 2.0, "gradient_norm": {"dense0": 1.0, "dense1": 0.5}}


def read(tmp_path, content):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_metrics(path)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_every_number_of_a_run_is_in_its_place(one, records):
    metrics = read_metrics(one / "metrics.jsonl")
    assert metrics.iterations.tolist() == [record["iteration"] for record in records]
    assert metrics.layers == ["dense0", "dense1", "dense2", "dense3"]
    assert metrics.norms.tolist() == [list(record["gradient_norm"].values()) for record in records]
    assert metrics.means.tolist() == [list(record["activation_mean"].values()) for record in records]
    assert metrics.stds.tolist() == [list(record["activation_std"].values()) for record in records]
    iterations, losses = metrics.logged("valid_loss")
    assert iterations.tolist() == [20, 40, 60]
    assert losses.tolist() == [record["valid_loss"] for record in records if "valid_loss" in record]
    assert metrics.logged("test_error")[0].size == 0


def test_a_line_that_is_being_written_is_left_out(tmp_path):
    whole = lines(LINE, LINE | {"iteration": 2})
    for cut in range(1, len(lines(LINE))):
        assert read(tmp_path, whole[:-cut]).iterations.tolist() == [1]


def test_a_number_that_was_not_finite_is_a_gap(tmp_path):
    metrics = read(tmp_path, lines(LINE | {"gradient_norm": {"dense0": None, "dense1": 1.0}}, LINE | {"iteration": 2}))
    assert np.isnan(metrics.norms).tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no iteration"),
        (lines(LINE)[:-2], "no iteration"),
        ("\n", "line 1"),
        (b"\xff\n", "line 1"),
        (lines(LINE, LINE), "line 2: its layers, or its iteration"),
        (lines(LINE | {"iteration": 0}), "line 1"),
        (lines(LINE | {"iteration": 10**30}), "line 1"),
        (lines(LINE | {"train_loss": float("nan")}), "line 1"),
        (lines(LINE).replace("2.0", "1e999"), "line 1: Number out of range"),
        (lines(LINE | {"train_loss": "2"}), "line 1"),
        (lines(LINE | {"gradient_norm": {}}), "no iteration with its layers"),
        (lines(LINE | {"gradient_norm": {"dense0": -1.0, "dense1": 1.0}}), "line 1"),
        (lines(LINE | {"gradient_norm": [1, 2]}), "line 1"),
        (lines(LINE, LINE | {"iteration": 2, "gradient_norm": {"dense0": 1.0}}), "line 2"),
        (lines(LINE, {**LINE, "iteration": 2, "gradient_norm": {"dense1": 1.0, "dense0": 1.0}}), "line 2"),
        (lines(LINE | {"activation_mean": {"a": 1.0}, "activation_std": {"b": 1.0}}), "no iteration with"),
        ("[" * 100_000 + "\n", "line 1"),
        ('{"iteration": ' + "9" * 5000 + "}\n", "line 1"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_what_no_run_logs_is_refused_with_its_line(tmp_path, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, content)
    assert "metrics.jsonl" in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"metrics\.jsonl: cannot be read"):
        read_metrics(tmp_path / "metrics.jsonl")
