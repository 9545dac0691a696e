"""A whole table in memory: its columns, and pieces of one size of it."""

import gzip
import io
import os
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisig.data import frame as frames
from minisig.data.frame import Text, even, is_parquet, is_table, most_common, read_table, table_pieces
from minisig.data.prepared import as_word
from minisig.errors import DataError
from tests.data.written import lines


@pytest.mark.parametrize(
    "name", ["a.csv", "a.CSV", "a.tsv", "a.tab", "a.csv.gz", "a.CSV.GZ", "a.tsv.gz", "a.parquet", "a.pq", "a.b.csv"]
)
def test_a_table_is_known_by_its_name(name):
    assert is_table(name)
    assert is_parquet(name) == name.endswith(("t", "q"))


@pytest.mark.parametrize("name", ["a.npz", "csv", "a.txt", "a.csv.zip", "a.gz", "a.csvx", "a.xlsx"])
def test_other_files_are_no_tables(name):
    assert not is_table(name)


# Pieces of one size


NUMBERS = st.lists(st.integers(0, 9).map(float) | st.just(np.nan), min_size=1, max_size=7)
WORDS = st.lists(st.sampled_from(["a", "b", "", "1"]), min_size=1, max_size=7)


@st.composite
def pieces(draw):
    """Of a column of numbers, one of words, and one that is sometimes this and sometimes that."""
    found = []
    for x in draw(st.lists(NUMBERS, max_size=6)):
        mixed = draw(st.booleans())
        found.append({"x": np.array(x), "w": list(map(str, x)), "m": np.array(x) if mixed else list(map(as_word, x))})
    return found


@given(pieces(), st.integers(1, 12))
def test_pieces_of_one_size_have_the_same_rows_in_their_order(given_pieces, rows):
    found = list(even(iter(given_pieces), rows))
    assert [len(piece["x"]) for piece in found[:-1]] == [rows] * (len(found) - 1)
    assert all(0 < len(piece[name]) <= rows for piece in found for name in piece)
    assert all(len({len(cells) for cells in piece.values()}) == 1 for piece in found)
    for name in ("x", "w"):
        ours = [cell for piece in found for cell in piece[name]]
        np.testing.assert_array_equal(ours, [cell for piece in given_pieces for cell in piece[name]])
    words = [as_word(cell) for piece in found for cell in piece["m"]]
    assert words == [as_word(cell) for piece in given_pieces for cell in piece["m"]]


@pytest.mark.parametrize("rows", [1, 7, 1000, 10**6])
def test_a_file_comes_in_pieces_of_so_many_rows(raw, rows):
    path = raw("a,b\n" + lines(*((i, f"w{i % 3}") for i in range(5000))), ".csv")
    found = list(table_pieces(path, ["a"], rows))
    assert {len(piece["a"]) for piece in found[:-1]} <= {rows}
    assert np.concatenate([piece["a"] for piece in found]).tolist() == [*range(5000)]
    assert [cell for piece in found for cell in piece["b"]] == [f"w{i % 3}" for i in range(5000)]


def test_pieces_hold_no_more_than_is_needed_of_a_large_file(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("a,b,c\n" + "0.12345678,0.12345678,0.5\n" * 600_000)
    tracemalloc.start()
    rows = sum(len(piece["a"]) for piece in table_pieces(path, ["a"], 1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 600_000
    assert peak < 100 * 2**20


def test_standard_input_is_read_as_a_file_is(raw):
    path = raw("a,b\n" + lines(*((i, "x") for i in range(50))), ".csv")
    before = os.dup(0)
    try:
        with path.open("rb") as file:
            os.dup2(file.fileno(), 0)
        assert [len(piece["a"]) for piece in table_pieces(None, ["a"], 20)] == [20, 20, 10]
        os.lseek(0, 0, os.SEEK_SET)  # it is open still
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_codes_stay_text_where_they_are_asked_for_as_such(raw):
    path = raw("zip,x\n" + "01234,1\n" * 9, ".csv")
    assert next(table_pieces(path, ["zip"], 5))["zip"][0] == 1234
    assert next(table_pieces(path, ["zip"], 5, ["zip"]))["zip"][0] == "01234"
    assert read_table(path, ["zip"]).columns["zip"].values == ["", "01234"]


# Columns


def test_a_column_of_text_keeps_each_cell_once_without_the_space_around_it(raw):
    column = read_table(raw("a,b\n" + "1,red\n2, red\n3,blue \n4,\n5,NA\n" * 9, ".csv")).columns["b"]
    assert isinstance(column, Text)
    assert column.cells() == ["red", "red", "blue", "", "NA"] * 9
    assert len(column.values) == len(set(column.values)) == 4
    assert column.counts == {"red": 18, "blue": 9}
    assert column.gone.tolist() == [False, False, False, True, True] * 9
    assert column.cells(np.array([2, 0])) == ["blue", "red"]
    assert most_common(column) == [("red", 18), ("blue", 9)]


def test_the_most_common_come_first_and_ties_by_the_alphabet():
    column = Text(["", "b", "a", "c"], np.array([1, 2, 3, 3, 0, 0, 0]))
    assert most_common(column) == [("c", 2), ("a", 1), ("b", 1)]


def test_numbers_can_be_names():
    column = Text.of(np.array([3, np.nan, 1.5, 3]))
    assert column.cells() == ["3", "", "1.5", "3"]
    assert column.gone.tolist() == [False, True, False, False]


@pytest.mark.parametrize(("distinct", "more"), [(9_998, False), (10_100, True)])
def test_of_ten_thousand_distinct_words_no_more_are_kept(raw, distinct, more):
    frame = read_table(raw("a,b\n" + lines(*((i, f"w{i}") for i in range(distinct)), *[(0, "w0")] * 20_000), ".csv"))
    assert frame.columns["b"].more is more
    assert frame.rows == distinct + 20_000
    assert len(frame.columns["a"]) == frame.rows


def test_too_many_cells_are_refused(raw, monkeypatch):
    path = raw("a,b\n" + "1,2\n" * 50, ".csv")
    monkeypatch.setattr(frames, "MAX_CELLS", 100)
    assert read_table(path).rows == 50
    monkeypatch.setattr(frames, "MAX_CELLS", 99)
    with pytest.raises(DataError, match="more than 99 cells"):
        read_table(path)


def test_a_frame_tells_how_it_was_written(raw):
    frame = read_table(raw("a;b\n" + "1,5;x\n" * 9 + "2,5\n", ".csv"))
    assert (frame.decimal, frame.header, frame.rows) == (",", True, 10)
    assert frame.notes == ["numbers have a decimal comma", "1 lines with too few cells; what lacks is missing"]
    assert not read_table(raw("1,2\n3,4\n", ".csv")).header


# Files that are none


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(DataError, match="not a file"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "words"), [("none.csv", "no such file"), ("x" * 300 + ".csv", "cannot be read: .*too long")]
)
@pytest.mark.parametrize("suffix", ["", ".gz", ".parquet"])
def test_a_file_that_is_not_there_is_refused_by_name(tmp_path, name, words, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=words) as caught:
        read_table(tmp_path / (name + suffix))
    assert name in str(caught.value)


@pytest.mark.parametrize("damage", ["cut", "flipped", "no gzip", "empty"])
def test_a_damaged_gzip_is_refused(raw, damage):
    good = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    bad = {"cut": good[:-20], "flipped": good[:-8] + bytes(8), "no gzip": b"a,b\n1,2\n", "empty": b""}
    words = "the file is empty" if damage == "empty" else "cannot be read"
    with pytest.raises(DataError, match=rf"mine\.csv\.gz: {words}"):
        read_table(raw(bad[damage], ".csv.gz"))


def test_a_gzip_of_many_gigabytes_is_refused_before_they_are_there(raw):
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9) as packed:
        packed.write(b"a,b\n")
        for _ in range(60):
            packed.write(b"1," * 2**20)
    assert sys.getsizeof(file.getvalue()) < 2**20
    tracemalloc.start()
    with pytest.raises(DataError):
        read_table(raw(file.getvalue(), ".csv.gz"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * 2**20
