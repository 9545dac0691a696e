"""python -m benchmarks.big_table, on a small one."""

import pytest

pytest.importorskip("sklearn", reason="needs the extra sklearn")
pytest.importorskip("pandas", reason="needs pandas")

from benchmarks import big_table

ROWS = 300


def test_the_table_is_the_same_each_time(tmp_path, monkeypatch):
    monkeypatch.setattr(big_table, "PIECE", 200)
    for name in ("a.csv", "b.csv"):
        big_table.write_table(tmp_path / name, ROWS)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines == (tmp_path / "b.csv").read_text().splitlines()
    assert len(lines) == 1 + ROWS
    assert {len(line.split(",")) for line in lines} == {20}
    assert {line.rpartition(",")[2] for line in lines[1:]} == {"yes", "no"}


def test_everybody_answers_every_row_of_it(tmp_path):
    found = big_table.measure(tmp_path, ROWS)
    for name in ("ours.csv", "theirs.csv"):
        head, *answers = (tmp_path / name).read_text().splitlines()
        assert head == "prediction"
        assert len(answers) == ROWS
        assert set(answers) <= {"yes", "no"}
    assert set(found["jobs"]) == set(big_table.JOBS)
    assert set(found["jobs"]["minisig train"]["parts"]) == {"read", "prepare", "train"}
    assert all(job["peak_megabytes"] > 10 for job in found["jobs"].values())
    assert "300 rows" in big_table.text(found)
