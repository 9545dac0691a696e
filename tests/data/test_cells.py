"""What a cell says: a number, a word, or nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisig.data.cells import decimal_of, is_date, is_missing, number, numbers

# fmt: off
NUMBERS = {
    "0": 0, "-0": 0, "+7": 7, "1234.5": 1234.5, ".5": 0.5, "5.": 5, "1e3": 1000, "1.5E-3": 0.0015, "−1.5": -1.5,
    " 12 ": 12, "\t3\u00a0": 3, "1,234": 1234, "-1,234,567.25": -1234567.25, "$12.50": 12.5, "$ 12": 12, "€5": 5,
    "12.5 €": 12.5, "-£3": -3, "$-3": -3, "45%": 45, "45 %": 45, "0.1": 0.1, "9007199254740993": 9007199254740992,
}
COMMAS = {"1,5": 1.5, "-0,25": -0.25, ",5": 0.5, "1.234,56": 1234.56, "1,5e3": 1500, "12,50 €": 12.5, "−1,5": -1.5}
NO_NUMBERS = [
    "abc", "1 2", "1-2", "1_000", "0x10", "1e", "e5", "--1", "1.2.3", "12,34", "1,23,456", "0,123", "01,234", "1,5",
    "٣", "１", "1j", "1d5", "5kg", "2019-01", "#5", "True", "½", "(5)", "5 5 %", "%", "1,2345",
]
MISSINGS = [
    "", " ", "\t", "NA", "n/a", "N.A.", "NaN", "nan", "-nan", "NULL", "null", "None", "nil", "?", "-", "--", ".", "..",
    "#N/A", "#NA", "#VALUE!", "#DIV/0!", "<NA>", "missing", "Inf", "-inf", "+Infinity", " NA ",
]
DATES = [
    "2020-01-31", "2020/1/3", "2020-01", "31.01.2020", "1/31/20", "31-Jan-2020", "5 January 2020", "Jan 5, 2020",
    "Jan-20", "2020 Q3", "2020-Q1", "2020-01-31 12:30:05", "2020-01-31T12:30:05Z", "Mon Jan 6 12:00:00 2020", "12:30",
    "12:30:45.25", "1:05 pm",
]
NO_DATES = ["12.5", "May", "12", "1.5", "1/2", "Montana", "a-b", "2020", "Mr. 5", "12:3", "x 2020-01-31", "sunny"]
# fmt: on


@pytest.mark.parametrize(("cell", "value"), NUMBERS.items())
def test_a_number_is_read_however_it_is_dressed(cell, value):
    assert number(cell) == value
    assert numbers([cell, "x"]).values[0] == value


@pytest.mark.parametrize(("cell", "value"), COMMAS.items())
def test_a_number_with_a_decimal_comma_is_read_where_the_file_has_one(cell, value):
    assert number(cell, ",") == value


@pytest.mark.parametrize("cell", NO_NUMBERS)
def test_what_only_looks_like_a_number_is_none(cell):
    assert number(cell) is None
    read = numbers([cell])
    assert np.isnan(read.values).all()
    assert (read.odd, read.missing) == ({cell: 1}, 0)


@pytest.mark.parametrize("cell", MISSINGS)
def test_a_cell_says_nothing_in_many_spellings(cell):
    assert is_missing(cell)
    read = numbers([cell, "1"])
    assert (read.odd, read.missing) == ({}, 1)
    np.testing.assert_array_equal(read.values, [np.nan, 1])


@pytest.mark.parametrize("cell", ["0", "no", "x", "N", "nano", "---", "$", "infinite"])
def test_other_cells_say_something(cell):
    assert not is_missing(cell)


@pytest.mark.parametrize("cell", DATES)
def test_a_date_is_one_in_many_forms(cell):
    assert is_date(cell)
    assert is_date(f" {cell.upper()} ")


@pytest.mark.parametrize("cell", NO_DATES)
def test_other_words_are_no_dates(cell):
    assert not is_date(cell)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_comes_back_with_all_its_bits(value):
    assert number(repr(value)) == value
    assert number(repr(value).replace(".", ","), ",") == value


@given(st.decimals(-(10**12), 10**12, places=2).map(float))
def test_thousands_may_have_separators(value):
    assert number(f"{value:,.2f}") == value
    assert number(f"{value:,.2f}".translate(str.maketrans(",.", ".,")), ",") == value


CELLS = st.text(alphabet="01.,-+e_ \u00a0$%٣nax", max_size=6)


@given(st.lists(CELLS), st.sampled_from(".,"))
def test_a_cell_is_a_number_or_none_whatever_stands_beside_it(cells, decimal):
    together = numbers(cells, decimal)
    alone = [numbers([cell], decimal) for cell in cells]
    np.testing.assert_array_equal(together.values, [read.values[0] for read in alone])
    assert together.missing == sum(read.missing for read in alone)
    assert together.odd == {cell: cells.count(cell) for cell, read in zip(cells, alone, strict=True) if read.odd}


@given(st.lists(CELLS), st.sampled_from(".,"))
def test_a_column_is_read_as_its_cells_are(cells, decimal):
    for cell, value in zip(cells, numbers(cells, decimal).values, strict=True):
        said = None if is_missing(cell) else number(cell, decimal)
        np.testing.assert_equal(value, np.nan if said is None else said)


def test_a_number_beyond_all_numbers_is_missing():
    read = numbers(["1e999", "-1e999", "1"])
    assert read.missing == 2
    np.testing.assert_array_equal(read.values, [np.nan, np.nan, 1])


@pytest.mark.parametrize(
    ("cells", "delimiter", "decimal"),
    [
        (["1,5", "2"], ";", ","),
        (["0,123", "0,456"], ";", ","),
        (["12,50 €"], ";", ","),
        (["1.234,5"], "\t", ","),
        (["−1,5"], ";", ","),
        (["1,5"], ",", ","),  # it was quoted
        (["1,5", "1.5"], ";", "."),
        (["1,5", "$1.5"], ";", "."),
        (["1,234"], ";", "."),
        (["1,234", "5"], ",", "."),
        (["a,b", "Smith, 5"], ";", "."),
        (["1.5"], ";", "."),
        ([], ",", "."),
    ],
)
def test_a_file_has_a_decimal_comma_where_nothing_else_makes_sense(cells, delimiter, decimal):
    assert decimal_of(cells, delimiter) == decimal
