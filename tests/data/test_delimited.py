"""Tables as text: how they are written is found out, and any piece of them says the same."""

import csv
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minisig.data import delimited
from minisig.data.delimited import Delimited, NotNumbers
from minisig.data.forms import Form
from minisig.data.frame import read_table
from minisig.errors import DataError
from tests.data.written import (
    Refused,
    as_file,
    assert_same_columns,
    columns_of,
    dialect,
    form_of,
    joined,
    lines,
    plainly,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "mine.csv"


def read(place, text, piece=None):
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.MonkeyPatch.context() as patch:
        if piece:
            patch.setattr(delimited, "PIECE", piece)
        return read_table(place)


# Two parsers, and pieces of any size


@settings(max_examples=400)
@given(
    st.lists(
        st.text(alphabet='",; \n\ta1.-e', max_size=12)
        | st.lists(st.text(alphabet='"; a1.-e', max_size=3), min_size=3, max_size=3).map(",".join)
        | st.lists(st.sampled_from(["1", "-2.5", " 3e1", "", "a"]), min_size=3, max_size=3).map(",".join),
        max_size=9,
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 40),
)
@example(["1,2,3"] * 4 + [",,", "", "4,,6"], "\n", 6)
@example(["1,2,3", '1,"2', '3",4', "5,6,7"], "\r\n", 5)
@example(["a,b,c", " a , b , c ", ",,", " "], "\n", 4)
@example(["1,2,3", '4,"5,6'], "\n", 3)
@example(["1,2,3", "4,5,6,", "7,8,9,1"], "\n", 3)
@example(['1, "2,5", 3', '1, a "b", 2', "4,  5 ,6"], "\n", 5)
@example(["1,2,3"] * 2 + ["1_0,2,3", "0x1,2,3", "nan,inf,1e999"], "\n", 7)
def test_a_file_is_read_as_the_csv_module_and_a_loop_over_its_cells_read_it(place, rows, end, piece):
    text = "x,y,z\n" + "".join(f"{row}\n" for row in rows)
    try:
        form = form_of(text)
    except DataError:
        return  # two columns of one, or what it is
    try:
        expected = plainly(text, form)
    except Refused:
        with pytest.raises(DataError):
            read(place, text.replace("\n", end), piece)
        return
    assert_same_columns(columns_of(read(place, text.replace("\n", end), piece)), expected)


@given(
    st.lists(st.tuples(*[st.floats(-1e300, 1e300)] * 2), min_size=3, max_size=9),
    st.sampled_from([repr, "{:.17g}".format, "{:+.3e}".format, "{: }".format]),
)
def test_both_parsers_read_a_number_to_the_same_bits(place, rows, written):
    text = "x,y\n" + lines(*(map(written, row) for row in rows))
    expected = [float(written(row[0])) for row in rows]
    for content in (text, text.replace("\n", '\n"', len(rows)).replace(",", '",').replace('x",', "x,")):
        frame = read(place, content, 8)  # the first row alone is read by the csv module, if nothing is quoted
        np.testing.assert_array_equal(frame.columns["x"].view(np.int64), np.array(expected).view(np.int64))


def test_numpy_reads_what_has_neither_quotes_nor_gaps(monkeypatch):
    """Or the two parsers above were one, and large files would be read slowly."""
    monkeypatch.setattr(delimited, "PIECE", 40)
    with as_file("x,word,y\n" + "1.5,a b,3\n" * 30) as file:
        pieces = Delimited(file, "it").pieces()
        next(pieces)
        monkeypatch.setattr(csv, "reader", None)
        rest = list(pieces)
    assert sum(len(piece["x"]) for piece in rest) > 20
    assert {cell for piece in rest for cell in piece["word"]} == {"a b"}


@pytest.mark.parametrize("piece", [1, 3, 10, 100, 10**6])
def test_a_line_longer_than_a_piece_is_read(place, piece):
    """It was waited for without end."""
    wide = lines([f"c{i}" for i in range(30)], *([i] * 30 for i in range(10, 19)))
    frame = read(place, wide + "\n\n", piece)
    assert frame.rows == 9
    assert frame.columns["c29"].tolist() == [*range(10, 19)]


def test_only_a_line_can_be_too_long_and_not_several_together(place, monkeypatch):
    for name, size in (("SAMPLE", 50), ("MAX_SAMPLE", 50), ("PIECE", 10), ("MAX_LINE", 100)):
        monkeypatch.setattr(delimited, name, size)
    text = "a,b\n" + f"1,{'x' * 40}\n" * 20
    assert read(place, text).rows == 20
    with pytest.raises(DataError, match="line 22: more than 100 characters in one line"):
        read(place, text + f"1,{'x' * 300}\n")


@pytest.mark.parametrize("piece", [5, 64, 10**6])
def test_lines_are_numbered_over_pieces_of_both_parsers(place, piece):
    text = "a,b\n" + "1,2\n" * 20 + '"3",\n\n"4\n5",6\n' + "7,8\n" * 20 + "1,2,3\n"
    with pytest.raises(DataError, match=r"line 46: 3 cells, expected 2"):
        read(place, text, piece)


# How a file is written


def table(seed, rows=12):
    """Numbers, whole numbers and words, of which some need quotes."""
    rng = random.Random(seed)
    words = ["red", "light blue", 'say "x"', "a,b", "c;d", "e|f", "g\th", "two\nlines", "größe", "it's"]
    return {
        "x": [round(rng.gauss(0, 100), 3) + 1e-4 for _ in range(rows)],
        "n": [rng.randrange(1000) for _ in range(rows)],
        "word": [rng.choice(words) for _ in range(rows - 1)] + ["red"],
        "z": [rng.gauss(0, 1) for _ in range(rows)],
    }


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10**6),
    st.fixed_dictionaries(
        {
            "delimiter": st.sampled_from(",;\t|"),
            "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
            "end": st.sampled_from(["\n", "\r\n"]),
            "decimal": st.sampled_from(".,"),
            "bom": st.booleans(),
            "gz": st.booleans(),
        }
    ),
    st.integers(1, 10**4),
)
def test_a_table_comes_back_from_every_dialect(place, seed, options, piece):
    columns = table(seed)
    frame = read(place.with_suffix(".csv.gz") if options["gz"] else place, dialect(columns, **options), piece)
    assert_same_columns(columns_of(frame), columns)
    assert frame.decimal == options["decimal"]
    assert frame.header


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("form", ["{:.1f}", "{:.3f}"])
def test_commas_between_digits_separate_nothing_where_something_else_does(place, delimiter, header, form):
    """With two hundred rows one comma a cell outnumbered the separators."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (200, 3))
    text = lines(*(map(form.format, row) for row in x.tolist()), delimiter=delimiter).replace(".", ",")
    frame = read(place, (delimiter.join("abc") + "\n") * header + text)
    assert frame.decimal == ","
    found = np.stack(list(frame.columns.values()), axis=1)
    np.testing.assert_array_equal(found, [[float(form.format(v)) for v in row] for row in x.tolist()])


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("name\tage\n" + "Smith, John\t5\n" * 9, "\t"),
        ("a,tags\n" + "1,x;y;z\n" * 9, ","),
        ("place,v\n" + "1.5;2.5,3\n" * 9, ","),
        ("a|b\n" + "1,5|2,5\n" * 9, "|"),
        ("a;b\n" + "1,234;5,678\n" * 9, ";"),
        ("a,b\n1,2\n", ","),
        ("a b\n" + "1  2.5\n 3   4 \n" * 9, " "),
        ("a b,c\n" + "x y,2\n" * 9, ","),
        ("words;more\n" + "x, y, z;a, b, c\n" * 9, ";"),
    ],
)
def test_the_separator_is_what_cuts_all_lines_alike(text, delimiter):
    assert form_of(text).delimiter == delimiter


def names(text, **options):
    form = form_of(text, **options)
    return form.names, form.header


X = lines(*([i + 0.5, 7 - i, "ab"[i % 2]] for i in range(6)))
THREE = ("column 1", "column 2", "column 3")
HEADERS = {
    "plain": ("a,b,c\n" + X, ("a", "b", "c"), True),
    "none": (X, THREE, False),
    "numbers alone": (lines([2019, 2020, 2021], *[[i, 2, 3] for i in range(9)]), THREE, False),
    "pandas numbers them": (lines([0, 1, 2, 3], *[[0, 2, 3, i] for i in range(9)]), ("0", "1", "2", "3"), True),
    "pandas numbers them after an index": (",0,1\n" + lines(*[[i, 2, 3] for i in "0123"]), ("unnamed 1", *"01"), True),
    "digits that count up by chance": (lines([0, 1, 2], *[[i, -i, i % 3] for i in range(9)]), THREE, False),
    "twice the same": ("a,a,a\n" + X, ("a", "a (2)", "a (3)"), True),
    "twice the same and its number": ("a,a (2),a\n" + X, ("a", "a (2)", "a (3)"), True),
    "some without": ("a,,\n" + X, ("a", "unnamed 2", "unnamed 3"), True),
    "quoted": ('"a","b, in\nmm"," c  d "\n' + X, ("a", "b, in mm", "c d"), True),
    "R's row names": ('"a","b"\n' + X.replace("\n", "\n"), ("unnamed 1", "a", "b"), True),
    "words over words": ("colour,shape\n" + "red,round\nblue,square\n" * 4, ("colour", "shape"), True),
    "words alone": ("red,round\n" * 4 + "blue,square\n" * 3, ("column 1", "column 2"), False),
    "words and a number": ("red,round\n" * 4 + "7,round\n", THREE[:2], False),
    "a separator at the end of the rows": ("a,b,c\n" + X.replace("\n", ",\n"), ("a", "b", "c", "unnamed 4"), True),
    "a separator at the end of all lines": ("a,b,c,\n" + X.replace("\n", ",\n"), ("a", "b", "c", "unnamed 4"), True),
    "a separator at the end of the header": ("a,b,c,\n" + X, ("a", "b", "c"), True),
    "blank lines above": ("\n \n\na,b,c\n" + X, ("a", "b", "c"), True),
    "a title": ("Measured in May\na,b,c\n" + X, ("a", "b", "c"), True),
    "titles and blank lines": ("Measured\n\nin May\n\na,b,c\n" + X, ("a", "b", "c"), True),
    "a title of two lines": ('"Measured\nin May"\na,b,c\n' + X, ("a", "b", "c"), True),
    "a title as Excel saves it": ("Measured in May,,\n,,\na,b,c\n" + X, ("a", "b", "c"), True),
    "remarks": ("# measured, in May\n#\na,b,c\n" + X, ("a", "b", "c"), True),
    "a remark with as many commas": ("# measured 2020, by me, for you\na,b,c\n" + X, ("a", "b", "c"), True),
    "names behind a #": ("# by me\n# a,b,c\n" + X, ("a", "b", "c"), True),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "header"), HEADERS.values(), ids=HEADERS)
def test_the_names_are_found_wherever_they_stand(text, expected, header):
    assert names(text) == (expected, header)


@pytest.mark.parametrize("text", [text for text, _, _ in HEADERS.values() if X in text])
def test_all_rows_under_any_header_are_read(place, text):
    frame = read(place, text)
    assert frame.rows == 6
    assert [*next(iter(frame.columns.values()))] == [i + 0.5 for i in range(6)]


def test_a_first_line_that_has_the_expected_names_names_the_columns():
    words = "red,round\n" * 3
    assert names(words, names=["red", "round"]) == (("red", "round"), True)
    assert names(words, names=["colour"])[1] is False
    assert names("a,b,c\n1,2,3\n", names=["b", "d"]) == (("a", "b", "c"), True)


def test_a_single_column_is_read_where_it_is_expected_and_else_refused():
    assert joined("x\n1\n2\n", names=["x"]) == {"x": [1, 2]}
    with pytest.raises(DataError, match="only one column"):
        form_of("x\n1\n2\n")


@pytest.mark.parametrize("content", ["# a\n", "#\n#\n", "#\n\n\n"])
def test_remarks_alone_are_no_table(content):
    for options in ({}, {"names": ["x"]}):
        with pytest.raises(DataError):
            form_of(content, **options)


# Encodings


TEXT = "größe,weiß\n" + "1,ä\n2,ß\n" * 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_letters_are_read_in_every_usual_encoding(place, encoding):
    frame = read(place, TEXT.encode(encoding))
    assert columns_of(frame) == {"größe": [1, 2] * 5, "weiß": ["ä", "ß"] * 5}


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_is_known_by_its_mark(place, order):
    mark = "\ufeff".encode(f"utf-16-{order}")
    assert read(place, mark + TEXT.encode(f"utf-16-{order}")).rows == 10
    with pytest.raises(DataError, match="not a text"):
        read(place, TEXT.encode(f"utf-16-{order}"))


def test_one_wrong_byte_spoils_no_other_letter(place):
    content = TEXT.encode().replace("ä".encode(), b"\xe4", 1)
    assert columns_of(read(place, content))["weiß"] == ["ä", "ß"] * 5


def test_a_letter_is_whole_where_pieces_meet(place):
    words = [f"{'ä' * i}x" for i in range(200)]
    frame = read(place, "a,w\n" + lines(*((i, word) for i, word in enumerate(words))), 7)
    assert frame.columns["w"].cells() == words


# Rows and cells that are not as the others


def test_a_long_row_is_refused_with_its_line(place):
    with pytest.raises(DataError, match=r"mine\.csv, line 4: 4 cells, expected 3 as in the rows before"):
        read(place, "a,b,c\n1,2,3\n\n1,2,3,4\n" + "1,2,3\n" * 5)


def test_a_short_row_is_filled_and_told(place):
    frame = read(place, "a,b,c\n" + "1,2,3\n" * 5 + "4,5\n")
    np.testing.assert_array_equal(frame.columns["c"], [3] * 5 + [np.nan])
    assert any("1 lines with too few cells" in note for note in frame.notes)


def test_a_remark_below_the_table_is_no_row(place):
    frame = read(place, "a,b,c\n" + "1,2,3\n" * 5 + "\nSource: me\n")
    assert frame.rows == 5
    assert any("too few cells" in note for note in frame.notes)


def test_empty_cells_at_the_end_of_a_row_are_left_off(place):
    assert read(place, "a,b\n" + "1,2,,\n" + "1,2\n" * 8).rows == 9


def test_a_line_of_separators_is_a_row_by_both_parsers_so_that_every_row_gets_its_prediction(place):
    for piece in (1, 10**6):
        assert columns_of(read(place, "a,b\n" + "x,y\n" * 3 + ",\n" + " , \nx,y\n", piece))["a"] == [
            "x",
            "x",
            "x",
            "",
            "",
            "x",
        ]


@pytest.mark.parametrize("piece", [3, 30, 10**6])
def test_a_quote_that_never_closes_is_refused_with_the_line_where_it_opens(place, piece):
    """The rest of the file was one cell, unsaid."""
    with pytest.raises(DataError, match=r"line 6: a quoted cell never ends; is a quote missing\?"):
        read(place, "a,b\n" + "1,2\n" * 4 + '1,"2\n' + "1,2\n" * 9, piece)


def test_a_quote_that_closes_far_below_is_refused_and_not_searched_for_long(place):
    text = "a,b\n" + "1,2\n" * 100_000 + '1,"2\n' + "1,2\n" * 100_000 + '1,2"\n'
    with pytest.raises(DataError, match=r"line 100,002: .*is a quote missing\?"):
        read(place, text)


def test_quotes_within_a_cell_are_part_of_it(place):
    assert columns_of(read(place, 'a,b\n1,5" pipe\n2,"say ""no"""\n'))["b"] == ['5" pipe', 'say "no"']


@pytest.mark.parametrize("place_of_zero", [3, 500_000])
def test_bytes_of_zero_are_refused_wherever_they_are(place, place_of_zero):
    text = "a,b\n" + "1,2\n" * 200_000
    with pytest.raises(DataError, match="bytes of zero"):
        read(place, text[:place_of_zero] + "\0" + text[place_of_zero:])


@pytest.mark.parametrize("start", ["", "a,b\n" + "1,2\n" * 70_000])
def test_an_endless_line_is_refused_in_little_memory(place, start):
    place.write_text(start + "1," * 10**7)
    tracemalloc.start()
    with pytest.raises(DataError):
        read_table(place)
    assert tracemalloc.get_traced_memory()[1] < 150 * 2**20
    tracemalloc.stop()


LONG = "z" * 200_000  # more than the csv module takes for a cell


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a,b\n1,{LONG}\n" + "1,2\n" * 30, "2"),
        ("a,b\n" + "1,2\n" * 300_000 + f"1,{LONG}\n", "300,002"),
    ],
    ids=["first", "later"],
)
def test_an_endless_cell_is_refused_with_its_line(place, text, line):
    with pytest.raises(DataError, match=rf"line {line}: field larger"):
        read(place, text)


@pytest.mark.parametrize("start", [f"a,{LONG}\n", f"# {LONG}\na,b\n"], ids=["name", "remark"])
def test_an_endless_name_or_remark_leaves_the_rows(place, start):
    assert read(place, start + "1,2\n" * 30).rows == 30


@pytest.mark.parametrize("content", ["", "\n\n", "   ", "\ufeff"])
def test_an_empty_file_is_called_so(place, content):
    with pytest.raises(DataError, match="the file is empty"):
        read(place, content)


@pytest.mark.parametrize("content", ["a,b,c\n", "a,b,c\n\n \n"])
def test_names_without_rows_are_no_table(place, content):
    with pytest.raises(DataError, match="no rows of data"):
        read(place, content)


# Wide tables


def test_a_table_of_twenty_thousand_genes_is_read(place):
    wide = [f"ENSG{i:011d}" for i in range(20_000)]
    frame = read(place, lines(wide, *[["1.5"] * 20_000] * 3))
    assert list(frame.columns) == wide
    assert frame.rows == 3


@pytest.mark.parametrize("rows", [1, 3])
def test_too_many_columns_are_refused_by_their_number(place, rows):
    with pytest.raises(DataError, match="60,000 columns, at most 50,000"):
        read(place, lines([f"c{i}" for i in range(60_000)], *[["1"] * 60_000] * rows))


# Columns that change


@pytest.mark.parametrize("rows", [20, 60_000], ids=["one piece", "several pieces"])
def test_a_column_that_turns_to_text_late_is_text_from_its_beginning(place, rows):
    text = "a,b\n" + "".join(f"{i},{i % 50}\n" for i in range(rows)) + "1,x\n" * (rows // 4)
    frame = read(place, text)
    assert frame.columns["b"].cells()[:3] == ["0", "1", "2"]
    assert frame.columns["b"].counts["x"] == rows // 4
    np.testing.assert_array_equal(frame.columns["a"], [*range(rows)] + [1] * (rows // 4))


def test_it_is_told_to_whoever_reads_piece_by_piece_and_asks(monkeypatch):
    monkeypatch.setattr(delimited, "PIECE", 30)
    text = "a,b\n" + "1,2\n" * 20 + "1,x\n" * 20
    with pytest.raises(NotNumbers) as caught:
        joined(text)
    assert caught.value.columns == {"b"}
    assert set(joined(text, text=["b"])["b"]) == {"2", "x"}


def test_a_few_odd_cells_leave_a_column_of_numbers_one(place):
    cells = [str(i) for i in range(100)]
    cells[7], cells[50] = "<5", "err"
    frame = read(place, "a,b\n" + lines(*((i, cell) for i, cell in enumerate(cells))))
    assert np.flatnonzero(np.isnan(frame.columns["b"])).tolist() == [7, 50]


def test_a_few_grades_and_a_word_among_them_are_words(place):
    cells = ["1", "2", "3"] * 20 + ["failed"]
    frame = read(place, "a,b\n" + lines(*((i, cell) for i, cell in enumerate(cells))))
    assert frame.columns["b"].counts == {"1": 20, "2": 20, "3": 20, "failed": 1}


def test_many_odd_cells_make_it_text(place):
    cells = [str(i) if i % 5 else f"x{i}" for i in range(100)]
    frame = read(place, "a,b\n" + lines(*((i, cell) for i, cell in enumerate(cells))))
    assert frame.columns["b"].cells() == cells


def test_a_column_that_begins_empty_is_what_comes_later(place):
    text = "a,b,c\n" + "1,,NA\n" * 60_000 + "1,5,x\n" * 10
    frame = read(place, text)
    assert np.isnan(frame.columns["b"]).sum() == 60_000
    assert frame.columns["b"][-1] == 5
    assert frame.columns["c"].counts == {"x": 10}


def test_a_form_that_is_known_is_not_looked_for():
    assert joined("1;2\n3;4\n", form=Form(("a", "b"), ";")) == {"a": [1, 3], "b": [2, 4]}


# Memory


def test_of_a_large_file_little_is_in_memory_at_once(tmp_path):
    """Text, cells and numbers of one piece: not the file."""
    path = tmp_path / "large.csv"
    path.write_text("a,b,c\n" + "0.12345678,0.12345678,abc\n" * 500_000)
    with path.open() as file:
        tracemalloc.start()
        rows = sum(len(piece["a"]) for piece in Delimited(file, "it").pieces())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert rows == 500_000
    assert peak < 80 * 2**20
