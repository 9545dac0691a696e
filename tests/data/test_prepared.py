"""How rows become what a network takes: found out from training rows, the same for all that come later."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisig.data.prepared import (
    Categorical,
    Noticed,
    Numeric,
    Prepared,
    TableInputs,
    TargetColumns,
    TextInputs,
    VectorInputs,
    as_word,
)
from minisig.errors import DataError

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(VALUES)
def test_numbers_are_standardised_by_what_the_training_part_shows(values):
    x = np.array(values)
    column = Numeric.of("x", x)
    z = column.encode(x, ".", Noticed())
    if x.std() > max(1e-9 * abs(x).max(), 1e-100):
        assert abs(z.mean()) < 1e-5
        assert z.std() == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(z * column.scale + column.centre, x, atol=1e-6 + 1e-12 * abs(x).max())


def test_a_missing_number_is_the_median_of_the_others_and_counted():
    column = Numeric.of("x", np.array([1, 2, 10, np.nan]))
    assert column.fill == 2
    assert column.centre == np.mean([1, 2, 10, 2])
    noticed = Noticed()
    z = column.encode(np.array([2, np.nan, np.inf, -np.inf]), ".", noticed)
    assert (z == z[0]).all()
    assert noticed.missing == {"x": 3}
    assert noticed.lines() == ["x: 3 missing, filled as while training"]


def test_numbers_may_come_as_text():
    column, noticed = Numeric("x", 5.0, 0.0, 1.0), Noticed()
    assert column.encode(["1,5", "1.234,5", "", "x", "x", "7"], ",", noticed).tolist() == [1.5, 1234.5, 5, 5, 5, 7]
    assert noticed.odd == {"x": {"x": 2}}
    assert noticed.missing == {"x": 3}


@pytest.mark.parametrize("values", [[7.0] * 5, [0.0] * 5, [1e-200, 2e-200], [1e9, 1e9 + 1e-7]])
def test_numbers_that_hardly_differ_leave_finite_inputs(values):
    assert np.isfinite(Numeric.of("x", np.array(values)).encode(np.array([*values, 1.0]), ".", Noticed())).all()


@pytest.mark.parametrize("values", [[1e300, -1e300], [1.7e308, 1.6e308, 1], [1e200, 0], [1.7e308, 1.6e308, np.nan]])
def test_numbers_too_large_are_refused_by_their_column_without_a_warning(values):
    with pytest.raises(DataError, match=r"column x: values up to 1.*too large"):
        Numeric.of("x", np.array(values))


@pytest.mark.parametrize("value", [1e300, 1e308, -1e45])
def test_a_later_number_too_large_is_refused_by_its_row_without_a_warning(value):
    inputs = TableInputs([Numeric("x", 0.0, 0.0, 1e-3)], TargetColumns(["y"], "regression"))
    with pytest.raises(DataError, match="x, row 10,001: too large for float32"):
        inputs.encode({"x": np.array([1.0] * 10_000 + [value])})


COLOURS = Categorical("c", ["red", "blue"], other=True, missing=True)


@pytest.mark.parametrize(
    ("column", "cells", "places"),
    [
        (COLOURS, ["red", "blue", "green", "", "NA", " red "], [0, 1, 2, 3, 3, 0]),
        (Categorical("c", ["red", "blue"]), ["red", "green", "", "blue"], [0, -1, -1, 1]),
        (Categorical("c", ["red"], other=True), ["green", "NA"], [1, -1]),
        (Categorical("c", ["red"], missing=True), ["green", "NA"], [-1, 1]),
        (Categorical("c", ["NA", "red"]), ["NA", "na"], [0, -1]),
        (Categorical("c", ["1", "2.5"], other=True), ["1.0", "01", "2.50", "1e0", "3", "x1"], [0, 0, 1, 0, 2, 2]),
        (Categorical("c", ["01", "1"], other=True), ["1", "01", "2"], [1, 0, 2]),
    ],
)
def test_each_category_has_an_input_of_its_own(column, cells, places):
    assert column.places(cells, Noticed()).tolist() == places
    assert column.width == len(column.labels)


def test_categories_that_training_did_not_have_are_told_unless_others_were():
    noticed = Noticed()
    Categorical("c", ["red"]).places(["green", " green", "red", "blue"], noticed)
    Categorical("c", ["red"], other=True).places(["green"], noticed)
    assert noticed.unknown == {"c": {"green": 2, "blue": 1}}
    assert noticed.lines() == ["c: 'green', 'blue' (3 cells) not among the training data's categories"]


def test_every_missing_cell_is_counted_however_it_is_spelt():
    noticed = Noticed()
    Categorical("c", ["red"]).places(["NA", " NA", "NA ", "", "red", "?"], noticed)
    assert noticed.missing == {"c": 5}


def test_of_what_is_told_there_is_never_much():
    noticed = Noticed()
    for _ in range(2):
        Categorical("c", []).places([f"w{i}" for i in range(5000)], noticed)
        Numeric("x", 0.0, 0.0, 1.0).encode([f"{'w' * 500}{i}" for i in range(5000)], ".", noticed)
    assert len(noticed.unknown["c"]) == len(noticed.odd["x"]) == 1000
    assert sum(noticed.unknown["c"].values()) == sum(noticed.odd["x"].values()) == 10_000  # and yet all are counted
    assert all(len(line) < 300 for line in noticed.lines())


INPUTS = TableInputs(
    [Numeric("x", 1.0, 2.0, 4.0), COLOURS, Numeric("z", 0.0, 0.0, 1.0)],
    TargetColumns(["y"], "classification", [1, "two"]),
    {"id": "row numbers"},
    ",",
)


def naive(x, c, z):
    row = [(x - 2) / 4]
    row += [float(c == label) for label in ("red", "blue")]
    return [*row, float(c not in ("red", "blue", "")), float(c == ""), z]


@pytest.mark.parametrize("rows", [1, 10, 8192, 8193, 20_000])
def test_a_row_is_encoded_as_a_loop_over_its_cells_does(rows):
    rng = np.random.default_rng(rows)
    x, z, c = rng.normal(size=rows), rng.normal(size=rows), rng.choice(["red", "blue", "green", ""], rows).tolist()
    found = INPUTS.encode({"z": z, "c": c, "x": x, "more": c})
    expected = [naive(*row) for row in zip(x, c, z, strict=True)]
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-6)
    assert found.dtype == np.float32


def test_its_inputs_are_named_and_found_by_their_columns():
    assert INPUTS.inputs == 6
    assert INPUTS.names == ["x", "c", "z"]
    assert INPUTS.input_names == ["x", "c=red", "c=blue", "c=(other)", "c=(missing)", "z"]
    assert INPUTS.spans == {"x": slice(0, 1), "c": slice(1, 5), "z": slice(5, 6)}
    assert INPUTS.encode({"x": np.empty(0), "c": [], "z": np.empty(0)}).shape == (0, 6)


def test_categories_may_come_as_numbers():
    inputs = TableInputs([Categorical("c", ["1", "2.5"], missing=True)], TargetColumns(["y"], "regression"))
    assert inputs.encode({"c": np.array([2.5, 1, np.nan])}).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "prepared",
    [INPUTS, VectorInputs(3, centre=[1.0] * 3, half=[2.0] * 3, classes=[1, 5]), TextInputs("words", ["a", "b"])],
    ids=["table", "vectors", "words"],
)
def test_what_is_kept_with_a_model_comes_back_the_same(prepared):
    assert msgspec.json.decode(msgspec.json.encode(prepared), type=Prepared) == prepared


@pytest.mark.parametrize(
    "change", [{"scale": 0}, {"scale": -1.0}, {"fill": 1e301}, {"kind": "other"}, {"more": 1}, {"centre": None}]
)
def test_what_makes_no_sense_is_not_taken_from_a_model_file(change):
    good = {"kind": "numeric", "name": "x", "fill": 0.0, "centre": 0.0, "scale": 1.0}
    msgspec.convert(good, Numeric | Categorical)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(good | change, Numeric | Categorical)


@given(st.integers(-(10**15) + 1, 10**15 - 1))
def test_a_whole_number_is_written_as_a_person_does(number):
    assert as_word(float(number)) == as_word(number) == str(number)


def test_vectors_are_scaled_as_they_were():
    x = np.array([[0.0, 10], [4, 20]])
    inputs = VectorInputs.of(x)
    np.testing.assert_array_equal(inputs(x), [[-1, -1], [1, 1]])
    np.testing.assert_array_equal(inputs(np.array([[8.0, 15]])), [[3, 0]])
    pixels = VectorInputs.of(np.array([[0, 255]], np.uint8))
    np.testing.assert_array_equal(pixels(np.array([[255, 0]], np.uint8)), [[1, -1]])
    assert VectorInputs.of(np.array([[-1.0, 0.5]])) == VectorInputs(2)
