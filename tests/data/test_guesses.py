"""What columns are for: which is predicted, as what, and which are no inputs."""

from pathlib import Path

import numpy as np
import pytest

from minisig.data.frame import Frame, Text
from minisig.data.guesses import choose, split_names, why_left_out
from minisig.data.tables import TableSettings
from minisig.errors import DataError, UsageError

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
ORDER = RNG.permutation(N)
WORDS = RNG.choice(["red", "green", "blue"], N).tolist()
IDS = [f"{a}{b}-{i}" for i, (a, b) in enumerate(zip("qwertzuiop" * 6, "asdfghjkla" * 6, strict=True))]


def column(cells):
    cells = list(cells)
    if not isinstance(cells[0], str):
        return np.array(cells, np.float64)
    values = list(dict.fromkeys(["", *cells]))
    return Text(values, np.array([values.index(cell) for cell in cells], np.int32))


def frame(header=True, **columns):
    found = {name: column(cells) for name, cells in columns.items()}
    return Frame(found, len(next(iter(columns.values()))), header=header)


def chosen(table, **wanted):
    return choose(table, TableSettings(**wanted), Path("mine.csv"))


# Columns that are no inputs


LEFT_OUT = {
    "empty": ("x", [np.nan] * N, "empty"),
    "empty text": ("x", ["", "NA"] * 30, "empty"),
    "constant": ("x", [3.0] * N, "constant, 3"),
    "constant text": ("x", ["red"] * N, "constant, 'red'"),
    "pandas index": ("unnamed 1", range(N), "row numbers"),
    "pandas index, shuffled": ("unnamed 1", ORDER, "row numbers"),
    "pandas index, read and saved again": ("Unnamed: 0", ORDER, "row numbers"),
    "pandas index in Parquet": ("__index_level_0__", ORDER, "row numbers"),
    "R row names": ("unnamed 1", range(1, N + 1), "row numbers"),
    "from a number on": ("unnamed 1", range(500, 500 + N), "row numbers"),
    "Id": ("Id", range(1, N + 1), "row numbers"),
    "index": ("index", range(N), "row numbers"),
    "amounts whose difference is no number": ("x", [1e308, -1e308] * (N // 2), ""),
    "index and empty lines": ("index", [*range(N - 2), np.nan, np.nan], "row numbers"),
    "pandas index and empty lines": ("unnamed 1", [*ORDER[1:], np.nan], "row numbers"),
    "ids and empty lines": ("customer_id", [*(ORDER[1:] + 1000), np.nan], "identifiers"),
    "obs.": ("obs", range(1, N + 1), "row numbers"),
    "row_no": ("row_no", range(1, N + 1), "row numbers"),
    "shuffled ids": ("customer_id", ORDER + 1000, "identifiers"),
    "camel ids": ("customerId", ORDER + 1000, "identifiers"),
    "words of their own": ("name", IDS, "nearly every row has another value: identifiers"),
    "sentences": ("x", [f"{i} is what I have to say about it" for i in range(N)], "free text"),
    "few sentences": ("x", [f"{i % 25} is what I have to say about it" for i in range(N)], "free text"),
    "dates": ("x", [f"2020-01-{i % 28 + 1:02}" for i in range(N)], "dates"),
    "few dates": ("x", ["2020-01-01", "2020-02-01"] * 30, "dates"),
    "dates and gaps": ("x", ["2020-01-01", "", "03/04/2021"] * 20, "dates"),
}


@pytest.mark.parametrize(("name", "cells", "reason"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_column_that_says_nothing_of_new_rows_is_left_out(name, cells, reason):
    assert why_left_out(frame(**{name: cells}), name) == reason


INPUTS = {
    "numbers": ("x", X),
    "numbers and a gap": ("x", [np.nan, *X[1:]]),
    "whole numbers in order, by a name of their own": ("year", range(1960, 2020)),
    "an age that counts up": ("age", range(N)),
    "ids that come again": ("customer_id", ORDER // 10),
    "a few ids": ("customer_id", [*ORDER[:20], *[np.nan] * (N - 20)]),
    "fractions called id": ("id", X),
    "unnamed fractions": ("unnamed 1", X),
    "unnamed classes": ("unnamed 1", ORDER % 3),
    "words": ("x", WORDS),
    "one word or none": ("x", ["yes", ""] * 30),
    "one number or none": ("x", [1, np.nan] * 30),
    "twenty-five towns": ("x", [f"t{i % 25}" for i in range(N)]),
    "valid": ("valid", ORDER),
    "paid": ("paid", ORDER),
    "times of a few words": ("x", ["2020-01-01", "never", "unknown"] * 20),
}


@pytest.mark.parametrize(("name", "cells"), INPUTS.values(), ids=INPUTS)
def test_other_columns_are_inputs(name, cells):
    assert why_left_out(frame(**{name: cells}), name) == ""


def test_without_a_header_numbers_that_count_the_rows_are_no_input():
    assert why_left_out(frame(False, a=range(N), b=X, c=X), "a") == "row numbers"
    assert why_left_out(frame(False, a=ORDER, b=X, c=X), "a") == ""
    assert why_left_out(frame(False, a=range(N), b=X), "a") == ""  # the only input there is


# The target


def test_the_last_column_is_predicted_unless_another_is_named():
    table = frame(a=X, b=WORDS, c=X[::-1])
    assert chosen(table).names == ["c"]
    assert chosen(table, target=("b",)).names == ["b"]
    assert chosen(table, ignore=("c",)).names == ["b"]
    assert chosen(table, ignore=("c,b",)).names == ["a"]


def test_the_default_walks_back_over_columns_that_cannot_be_predicted_and_says_why():
    hardly = [1.0] * 5 + [2.0] * 4 + [np.nan] * (N - 9)
    towns = [f"t{i % 25}" for i in range(N)]
    rare = ["a", "b"] * 4 + [""] * (N - 8)
    last = chosen(
        frame(a=X, y=WORDS, date=["2020-01-01", "2020-01-02"] * 30, id=range(N), none=[np.nan] * N, same=[1] * N,
              text=IDS, hardly=hardly, towns=towns, rare=rare, yes=["yes", ""] * 30, one=[1, np.nan] * 30)
    )  # fmt: skip
    assert last.names == ["y"]
    assert last.why == {
        "one": "one value",
        "yes": "one value",
        "rare": "hardly any cell says something",
        "towns": "25 classes are too many for 60 rows",
        "hardly": "hardly any cell says something",
        "text": "nearly every row has another value: identifiers",
        "same": "constant, 1",
        "none": "empty",
        "id": "row numbers",
        "date": "dates",
    }


def test_where_nothing_can_be_predicted_it_is_said_why():
    table = frame(index=range(N), b=[np.nan] * N)
    with pytest.raises(DataError, match=r"could be predicted \(b: empty; index: row numbers\); .*--target"):
        chosen(table)


def test_for_a_regression_words_are_walked_over():
    assert chosen(frame(a=X, y=WORDS), task="regression").names == ["a"]


TASKS = {
    "words": (WORDS, "classification", ["blue", "green", "red"]),
    "1, 2, 3": (ORDER % 3 + 1, "classification", [1, 2, 3]),
    "±1": (ORDER % 2 * 2 - 1, "classification", [-1, 1]),
    "0 and 1": (ORDER % 2, "classification", [0, 1]),
    "two fractions": (ORDER % 2 + 0.5, "classification", [0.5, 1.5]),
    "three fractions": (ORDER % 3 + 0.5, "regression", []),
    "booleans": (["True", "False"] * 30, "classification", ["False", "True"]),
    "ten": (ORDER % 10, "classification", list(range(10))),
    "eleven": (ORDER % 11, "regression", []),
    "whole numbers": (ORDER, "regression", []),
    "fractions": (X, "regression", []),
    "with gaps": ([np.nan, 5, 7] * 20, "classification", [5, 7]),
    "words with gaps": (["", "a", "b"] * 20, "classification", ["a", "b"]),
}


@pytest.mark.parametrize(("cells", "task", "classes"), TASKS.values(), ids=TASKS)
def test_few_whole_numbers_and_words_are_classes_and_other_numbers_are_amounts(cells, task, classes):
    found = chosen(frame(x=X, y=cells))
    assert (found.task, found.classes) == (task, classes)
    assert [type(value) for value in found.classes] == [type(value) for value in classes]


def test_a_few_whole_numbers_of_as_few_rows_are_amounts():
    table = Frame({"x": X[:12], "y": np.arange(12.0) % 4}, 12)
    assert chosen(table).task == "regression"


def test_the_task_can_be_said():
    table = frame(x=X, y=ORDER % 3, z=X.round(1))
    assert chosen(table, target=("y",), task="regression").task == "regression"
    assert len(chosen(table, target=("z",), task="classification").classes) == len(set(X.round(1)))
    assert chosen(frame(x=X, y=ORDER % 20), categorical=("y",)).classes == list(range(20))
    with pytest.raises(UsageError, match=r"w holds text such as '(red|green|blue)'"):
        chosen(frame(x=X, w=WORDS), target=("w",), task="regression")


def test_several_targets_of_numbers_are_a_regression_and_of_two_values_labels():
    table = frame(a=X, b=X, c=ORDER % 2, d=["no", "yes"] * 30, e=WORDS)
    assert chosen(table, target=("a", "b")).task == "regression"
    labels = chosen(table, target=("c,d",))
    assert (labels.task, labels.names, labels.classes) == ("labels", ["c", "d"], [0, 1, "no", "yes"])
    for mixed in (("a", "c"), ("c", "e"), ("a", "e")):
        with pytest.raises(UsageError, match="must all be numbers, or all have two classes"):
            chosen(table, target=mixed)


REFUSED = {
    "one value": ([3.0] * N, "only one value"),
    "one word": (["a"] * N, "only one value"),
    "no value": ([np.nan] * N, "no value at all"),
    "no word": (["", "NA"] * 30, "no value at all"),
    "another in every row": (IDS, "nearly every row has another"),
}


@pytest.mark.parametrize(("cells", "words"), REFUSED.values(), ids=REFUSED)
def test_a_target_from_which_nothing_can_be_learned_is_refused(cells, words):
    with pytest.raises(DataError, match=words):
        chosen(frame(x=X, y=cells), target=("y",))


def test_too_many_classes_are_refused():
    many = np.arange(3000.0) % 1001
    table = Frame({"y": many, "w": column([f"w{v:g}" for v in many])}, 3000)
    for name in ("y", "w"):
        with pytest.raises(DataError, match=r"1,00"):
            chosen(table, target=(name,), task="classification")


@pytest.mark.parametrize("setting", ["target", "ignore", "categorical"])
def test_an_unknown_column_is_answered_with_the_nearest(setting):
    with pytest.raises(UsageError, match=r"unknown column of mine\.csv 'colou'\. Did you mean 'colour'\?"):
        chosen(frame(x=X, colour=WORDS), **{setting: ("x,colou",)})


def test_a_name_may_have_a_comma_in_it():
    table = Frame({"a, in mm": X, "a": X, "b": X}, N)
    assert split_names(("a, in mm", "a, b", "b"), table) == ["a, in mm", "a", "b"]
