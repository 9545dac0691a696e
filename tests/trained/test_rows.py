"""Rows as people have them become cells by their columns' names."""

import numpy as np
import pytest

from minisig.errors import UsageError
from minisig.trained.rows import as_columns

NAMES = ["a", "b"]


def plainly(rows):
    """Cells as lists, NaN as None."""
    found = as_columns(rows, NAMES)
    return {
        name: [None if cell != cell else cell for cell in cells.tolist()] if isinstance(cells, np.ndarray) else cells
        for name, cells in found.items()
    }


def frame_of(library, columns):
    return pytest.importorskip(library).DataFrame(columns)


WANTED = {"a": [1.0, None, 2.5], "b": ["x", "", "z"]}


@pytest.mark.parametrize(
    "rows",
    [
        {"a": [1, None, 2.5], "b": ["x", None, "z"]},
        {"b": np.array(["x", "", "z"]), "a": np.array([1, np.nan, 2.5])},
        [{"a": 1, "b": "x"}, {"b": ""}, {"b": "z", "a": 2.5}],
        [[1, "x"], [None, None], [2.5, "z"]],
        [(1.0, "x"), (float("nan"), None), (2.5, "z")],
        np.array([[1, "x"], [None, None], [2.5, "z"]], dtype=object),
    ],
    ids=["columns", "arrays", "dicts", "lists", "tuples", "array"],
)
def test_rows_of_every_kind_say_the_same(rows):
    assert plainly(rows) == WANTED


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_say_the_same(library):
    assert plainly(frame_of(library, {"b": ["x", None, "z"], "a": [1.0, None, 2.5]})) == WANTED


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float32", "object"])
def test_numbers_of_pandas_are_numbers_whatever_their_dtype(dtype):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.array([1, None, 2], dtype=dtype), "b": 0})
    assert plainly(frame) == {"a": [1, None, 2], "b": [0, 0, 0]}


@pytest.mark.parametrize("dtype", ["string", "category", "object"])
def test_words_of_pandas_are_words_whatever_their_dtype(dtype):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": 0, "b": pandas.Series(["x", None, "z"], dtype=dtype)}).set_index([[7, 7, 7]])
    assert plainly(frame)["b"] == WANTED["b"]


def test_masked_cells_are_missing():
    column = np.ma.array([1.0, 99.0, 2.5], mask=[False, True, False])
    assert plainly({"a": column, "b": column})["a"] == [1.0, None, 2.5]
    assert plainly(np.ma.stack([column, column], axis=1))["b"] == [1.0, None, 2.5]


def test_truth_values_are_words():
    assert plainly({"a": [True, False], "b": np.array([True, False])}) == {
        "a": ["True", "False"],
        "b": ["True", "False"],
    }


@pytest.mark.parametrize("library", ["", "pandas", "polars"])
def test_other_columns_are_not_looked_at(library):
    columns = {"pixels": [np.zeros(2), np.ones(2)], "b": ["x", "y"], "a": [1, 2], "rest": [{}, {"a": [1]}]}
    assert plainly(frame_of(library, columns) if library else columns) == {"a": [1, 2], "b": ["x", "y"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert plainly(rows) == {"a": [1, 2], "b": ["x", "y"]}


def test_columns_that_are_all_there_is_keep_their_order():
    assert list(as_columns({"z": [1], "y": [2]}, NAMES)) == ["z", "y"]


def test_no_rows_are_no_rows():
    assert plainly([]) == plainly(np.empty((0, 2))) == {"a": [], "b": []}
    assert plainly({"a": [], "b": []}) == {"a": [], "b": []}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1, "x"], r"of one row make a list: \[row\]"),
        (["ab", "cd"], "expected rows"),
        ([[1, "x"], [1]], r"rows of different lengths: \[1, 2\]"),
        ([[1, 2, 3]], "rows of 3 cells, expected 2: a, b; or give the columns by their names"),
        (np.zeros((4, 3)), "rows of 3 cells, expected 2"),
        (np.zeros(2), r"expected rows \(N, 2\), got ndarray of shape \(2,\)"),
        (np.zeros((2, 2, 2)), r"got ndarray of shape \(2, 2, 2\)"),
        ("a,b", "expected rows"),
        (7, r"got int of shape \(\)"),
        ({"a": [1], "b": [1, 2]}, "columns of different lengths: {'a': 1, 'b': 2}"),
        ({"a": 1, "b": 2}, r"expected a column of single cells, got shape \(\)"),
        ({"a": [[1, 2], [3, 4]], "b": [1, 2]}, r"got shape \(2, 2\)"),
        ({"a": [1j], "b": [1]}, "got complex numbers"),
    ],
)
def test_what_are_no_rows_is_refused_with_what_was_expected(rows, message):
    with pytest.raises(UsageError, match=message):
        as_columns(rows, NAMES)
