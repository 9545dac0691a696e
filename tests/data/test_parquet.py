"""Parquet: the same table as its CSV."""

import datetime
import decimal

import numpy as np
import pytest

from minisig.data import parquet
from minisig.data.frame import Text, read_table, table_pieces
from minisig.data.tables import TableSettings, load_table
from minisig.errors import DataError
from tests.data.written import columns_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def written(tmp_path):
    def write(columns, **options):
        path = tmp_path / "mine.parquet"
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
        return path

    return write


KINDS = {
    "int8": (pa.array([1, None, 3], pa.int8()), [1, np.nan, 3]),
    "uint64": (pa.array([1, 2**64 - 1, 3], pa.uint64()), [1, 2.0**64, 3]),
    "int64 beyond float64": (pa.array([2**53 + 1, 5, 3]), [2.0**53, 5, 3]),
    "float16": (pa.array(np.array([0.5, 1, np.nan], np.float16)), [0.5, 1, np.nan]),
    "float32": (pa.array([0.5, None, 3], pa.float32()), [0.5, np.nan, 3]),
    "infinite": (pa.array([np.inf, -np.inf, 3]), [np.nan, np.nan, 3]),
    "decimal": (pa.array([decimal.Decimal("1.25"), None, decimal.Decimal(3)]), [1.25, np.nan, 3]),
    "text": (pa.array([" red", None, "1"]), ["red", "", "1"]),
    "large text": (pa.array(["red", None, "1"], pa.large_string()), ["red", "", "1"]),
    "dictionary": (pa.array(["red", None, "red"]).dictionary_encode(), ["red", "", "red"]),
    "bool": (pa.array([True, None, False]), ["True", "", "False"]),
    "bytes": (pa.array([b"red", None, b"\xff"]), ["red", "", "\ufffd"]),
    "date": (pa.array([datetime.date(2020, 1, 31), None, None]), ["2020-01-31", "", ""]),
    "time": (pa.array([datetime.datetime(2020, 1, 31, 5)] * 3), ["2020-01-31 05:00:00"] * 3),
    "lists": (pa.array([[1, 2], None, []]), ["[1, 2]", "", "[]"]),
    "nothing": (pa.array([None, None, None]), ["", "", ""]),
}


@pytest.mark.parametrize(("column", "cells"), KINDS.values(), ids=KINDS)
def test_a_column_of_any_type_is_numbers_or_words(written, column, cells):
    frame = read_table(written({"a": column, "b": [1, 2, 3]}))
    np.testing.assert_array_equal(columns_of(frame)["a"], cells)
    assert frame.rows == 3


def test_it_is_the_same_data_set_as_its_csv(written, tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "x": rng.normal(size=60),
        "n": np.where(np.arange(60) % 7, rng.integers(0, 99, 60), np.nan),
        "colour": rng.choice(["red", "blue", "green"], 60),
        "class": rng.choice(["a", "b"], 60),
    }
    text = ",".join(columns) + "\n"
    for row in zip(*columns.values(), strict=True):
        text += ",".join("" if cell != cell else repr(cell.item()).strip("'") for cell in row) + "\n"
    (tmp_path / "mine.csv").write_text(text)
    ours = load_table(
        written({name: pa.array(cells, from_pandas=True) for name, cells in columns.items()}), TableSettings()
    )
    theirs = load_table(tmp_path / "mine.csv", TableSettings())
    assert ours.prepared == theirs.prepared
    for part in ("train", "valid", "test"):
        np.testing.assert_array_equal(getattr(ours, part).x, getattr(theirs, part).x)
        np.testing.assert_array_equal(getattr(ours, part).y, getattr(theirs, part).y)


def test_pandas_index_is_no_input(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"x": np.arange(60) * 1.5 % 7, "y": np.arange(60) // 20})
    table.sample(frac=1, random_state=0).to_parquet(tmp_path / "mine.parquet")
    assert "__index_level_0__" in read_table(tmp_path / "mine.parquet").columns  # or this test shows nothing
    data = load_table(tmp_path / "mine.parquet", TableSettings())
    assert data.prepared.names == ["x"]
    assert data.prepared.target.names == ["y"]


def test_names_that_come_twice_or_not_at_all_are_told_apart(written):
    table = pa.Table.from_arrays([pa.array([1, 2])] * 4, names=["a", "a", "", "a (2)"])
    assert list(read_table(written(table)).columns) == ["a", "a (2)", "unnamed 3", "a (2) (2)"]


def test_rows_come_in_their_order_whatever_the_batches(written, monkeypatch):
    path = written({"a": range(1000), "b": [f"w{i % 5}" for i in range(1000)]}, row_group_size=77)
    monkeypatch.setattr(parquet, "BATCH", 64)
    assert read_table(path).columns["a"].tolist() == [*range(1000)]
    found = list(table_pieces(path, ["a"], 300))
    assert [len(piece["a"]) for piece in found] == [300, 300, 300, 100]
    assert found[1]["b"][:2] == ["w0", "w1"]


def test_a_wide_table_is_read_in_fewer_rows_at_a_time(written, monkeypatch):
    path = written({f"c{i}": range(100) for i in range(50)})
    monkeypatch.setattr(parquet, "BATCH_CELLS", 500)
    sizes = [len(piece["c0"]) for piece in parquet.parquet_pieces(path)]
    assert sizes == [10] * 10
    monkeypatch.setattr(parquet, "MAX_COLUMNS", 49)
    with pytest.raises(DataError, match="50 columns, at most 49"):
        read_table(path)


def test_a_table_without_rows_or_columns_is_refused(written):
    for table in ({"a": pa.array([], pa.int64())}, {}):
        with pytest.raises(DataError, match="no rows of data"):
            read_table(written(table))


@pytest.mark.parametrize("damage", ["cut", "start", "empty", "csv", "middle"])
def test_a_damaged_file_is_refused_by_name(written, damage):
    path = written({"a": range(1000), "b": ["x"] * 1000})
    good = path.read_bytes()
    middle = good[:100] + b"\xff" * 60 + good[160:]
    bad = {"cut": good[:-9], "start": good[50:200], "empty": b"", "csv": b"a,b\n1,2\n", "middle": middle}[damage]
    path.write_bytes(bad)
    with pytest.raises(DataError, match=r"mine\.parquet: (not a readable Parquet file|cannot be read)") as caught:
        read_table(path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "mine.parquet").mkdir()
    with pytest.raises(DataError, match="not a file"):
        read_table(tmp_path / "mine.parquet")


def test_a_column_of_text_is_one_even_if_it_holds_numbers(written):
    assert isinstance(read_table(written({"a": ["1", "2"], "b": [1, 2]})).columns["a"], Text)
