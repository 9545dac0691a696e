"""Cells and tables as text."""

import pytest

from minisig.report.tables import MAX_ROWS, abridged, columns, number, setting


def test_names_stand_to_the_left_and_numbers_to_the_right():
    assert columns([["layer", "norm"], ["dense10", "1"], ["x", ""]]) == "layer    norm\ndense10     1\nx"


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0, "0"), (1234.5, "1.23e+03"), (0.12345, "0.123")])
def test_a_number_has_three_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), ((5, 5), "2 × 5"), ((5,), "5"), ([5, 6], "5, 6"), ("abcdefgh", "abcdef…"), (range(1), "range(…")],
)
def test_a_setting_is_told_in_a_few_letters(value, text):
    assert setting(value, 6) == text


@pytest.mark.parametrize("count", [1, MAX_ROWS, MAX_ROWS + 1, 10 * MAX_ROWS])
def test_of_too_many_rows_the_first_and_last_are_shown(count):
    rows = [[str(i), "1"] for i in range(count)]
    shown = abridged(rows)
    if count <= MAX_ROWS:
        assert shown == rows
    else:
        half = MAX_ROWS // 2
        assert shown == [*rows[:half], ["…", ""], *rows[-half:]]
