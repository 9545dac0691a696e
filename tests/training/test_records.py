"""Records and summaries: what is written is what is read, and metrics may have any name."""

import json

import pytest

from minisig import __version__
from minisig.errors import DataError
from minisig.training.files import FORMAT, read_config
from minisig.training.records import Logged, Outcome, encode_record, metrics, read_records, read_summary, write_summary
from minisig.training.run import run
from tests.faults.runs import KINDS

RECORD = {"iteration": 1, "train_loss": 0.5, "gradient_norm": {"dense0": 1.0}}


def named(struct):
    return set(struct.__struct_fields__)


@pytest.mark.parametrize("name", KINDS)
def test_a_run_writes_what_is_defined_and_nothing_else(tmp_path, straight, name):
    config, _ = straight(name)
    summary = run(config, tmp_path / "run", observers=[(seen := []).append])
    assert read_records(tmp_path / "run" / "metrics.jsonl") == json.loads(json.dumps(seen))
    for record in seen:
        assert record.keys() - metrics(record, "valid").keys() <= named(Logged)
    assert read_summary(tmp_path / "run") == summary
    assert summary.keys() - metrics(summary).keys() <= named(Outcome) | {"format", "version"}


@pytest.mark.parametrize("metric", ["rmse", "r2", "top_5_error", "Präzision"])
def test_a_metric_may_have_any_name(tmp_path, xor, metric):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode_record(RECORD | {f"valid_{metric}": 0.25}))
    (record,) = read_records(path)
    assert record[f"valid_{metric}"] == 0.25
    write_summary(tmp_path, run(xor) | {f"test_{metric}": 0.5})
    assert read_summary(tmp_path)[f"test_{metric}"] == 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [("valid_r2", "0.5"), ("valid_r2", [0.5]), ("valid_", 0.5), ("valid_a b", 1.0), ("valid_x", 10**400)],
)
def test_what_is_no_metric_is_refused_with_its_line(tmp_path, name, value):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode_record(RECORD) + json.dumps(RECORD | {"iteration": 2, name: value}).encode() + b"\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl, line 2: "):
        read_records(path)


def test_what_was_not_finite_is_a_gap_in_a_record_and_no_part_of_a_summary(tmp_path, xor):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode_record(RECORD | {"valid_r2": float("nan")}))
    assert read_records(path)[0]["valid_r2"] is None
    write_summary(tmp_path, run(xor) | {"test_r2": float("-inf")})
    assert "test_r2" not in read_summary(tmp_path)


def test_the_test_loss_is_enough_of_a_summary_and_less_is_not(tmp_path, xor):
    summary = {name: value for name, value in run(xor).items() if name != "test_error"}
    write_summary(tmp_path, summary)
    assert read_summary(tmp_path) == summary
    write_summary(tmp_path, {name: value for name, value in summary.items() if name != "test_loss"})
    with pytest.raises(DataError, match=r"summary\.json: .*test_loss"):
        read_summary(tmp_path)


# Which minisig made it


def test_a_run_tells_its_format_and_who_made_it(tmp_path, xor):
    run(xor, tmp_path)
    for name in ("config.json", "summary.json"):
        written = json.loads((tmp_path / name).read_text())
        assert list(written.items())[:2] == [("format", FORMAT), ("version", __version__)]


READERS = {"config.json": read_config, "summary.json": read_summary}


def edit(path, **fields):
    written = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in written.items() if value is not None}))


@pytest.mark.parametrize("name", READERS)
def test_a_run_from_before_there_were_formats_is_read(tmp_path, xor, name):
    run(xor, tmp_path)
    known = READERS[name](tmp_path)
    edit(tmp_path / name, format=None, version=None)
    found = READERS[name](tmp_path)
    assert found == (
        known if name == "config.json" else {k: v for k, v in known.items() if k not in ("format", "version")}
    )


@pytest.mark.parametrize("name", READERS)
def test_a_run_of_a_later_format_is_refused_in_words(tmp_path, xor, name):
    run(xor, tmp_path)
    edit(tmp_path / name, format=FORMAT + 1, version="7.1", colour="red")
    with pytest.raises(DataError) as caught:
        READERS[name](tmp_path)
    words = f"made by minisig 7.1, format {FORMAT + 1}, this minisig reads up to {FORMAT}: update minisig"
    assert str(caught.value) == f"{tmp_path / name}: {words}"


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("fields", [{"format": 0}, {"format": "2"}, {"format": 1.5}, {"version": 2}])
def test_a_format_that_is_none_is_refused(tmp_path, xor, name, fields):
    run(xor, tmp_path)
    edit(tmp_path / name, **fields)
    with pytest.raises(DataError, match=name.replace(".", r"\.")):
        READERS[name](tmp_path)
