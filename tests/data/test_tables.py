"""The user's own table, as it comes out of other programs, as a data set."""

import csv
import io
import os
from pathlib import Path

import msgspec
import numpy as np
import pytest

import minisig as ms
from minisig.data import tables
from minisig.data.frame import Text, read_table
from minisig.data.prepared import Categorical, Numeric, TableInputs
from minisig.data.tables import TableSettings, load_table
from minisig.errors import DataError, UsageError
from tests.data.written import lines

PARTS = ("train", "valid", "test")
RNG = np.random.default_rng(0)
KINDS = ["setosa", "versicolor", "virginica"]
# Sorted by their kind, as iris is: who had the row numbers knew it all, and nothing of a new flower.
FLOWERS = [[*(np.round(RNG.normal(3 + i // 50, 0.5, 4), 1).tolist()), KINDS[i // 50]] for i in range(150)]
NAMES = ["sepal length", "sepal width", "petal length", "petal width", "species"]


def load(path, prepared=None, **wanted):
    return load_table(Path(path), TableSettings(**wanted), prepared)


def raw_rows(data, frame):
    """The inputs of the data set as numbers of the file again, row by row of the file."""
    found = np.full((frame.rows, data.prepared.inputs), np.nan)
    for part in PARTS:
        found[data.rows[part]] = getattr(data, part).x
    for column, span in zip(data.prepared.columns, data.prepared.spans.values(), strict=True):
        if isinstance(column, Numeric):
            found[:, span] = found[:, span] * column.scale + column.centre
    return found


def same(a, b):
    assert a.prepared == b.prepared
    for part in PARTS:
        np.testing.assert_array_equal(a.rows[part], b.rows[part])
        np.testing.assert_array_equal(getattr(a, part).x, getattr(b, part).x)
        np.testing.assert_array_equal(getattr(a, part).y, getattr(b, part).y)


# The same flowers, as other programs write them


def written(form):
    quoted = csv.QUOTE_NONNUMERIC
    rows, names, options, above, below, end = FLOWERS, NAMES, {}, "", "", "\n"
    numbered = [[i, *row] for i, row in enumerate(rows)]
    match form:
        case "R, write.csv":
            names, rows, options = ["", *names], [[str(i + 1), *row] for i, *row in numbered], {"quoting": quoted}
        case "R, write.table with tabs":
            rows, options = [[str(i + 1), *row] for i, *row in numbered], {"quoting": quoted, "delimiter": "\t"}
        case "R, write.csv2":
            names, rows = ["", *names], [[str(i + 1), *row] for i, *row in numbered]
            options = {"quoting": quoted, "delimiter": ";"}
        case "pandas, to_csv":
            names, rows = ["", *names], numbered
        case "pandas, to_csv of shuffled rows":
            order = np.random.default_rng(1).permutation(150).tolist()
            names, rows = ["", *names], [[i, *row] for i, row in zip(order, rows, strict=True)]
        case "pandas, saved twice":
            names, rows = ["", "Unnamed: 0", *names], [[i, *row] for i, row in enumerate(numbered)]
        case "Kaggle":
            names, rows = ["Id", *names], [[i + 1, *row] for i, *row in numbered]
        case "Excel, CRLF and BOM":
            above, end = "\ufeff", "\r\n"
        case "Excel, German":
            options, end = {"delimiter": ";"}, "\r\n"
        case "Excel, with a title and empty lines":
            above, below = "Flowers,,,,\n,,,,\n", ",,,,\n,,,,\n"
        case "with remarks":
            above, below = "# Flowers, measured by hand\n# in 1935\n", "\nSource: my garden\n"
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=end, **options)
    writer.writerow(names)
    writer.writerows(rows)
    text = file.getvalue()
    if form in ("R, write.csv2", "Excel, German"):
        text = text.replace(".", ",")
    return above + text + below


FORMS = [
    "plain", "R, write.csv", "R, write.table with tabs", "R, write.csv2", "pandas, to_csv",
    "pandas, to_csv of shuffled rows", "pandas, saved twice", "Kaggle", "Excel, CRLF and BOM", "Excel, German",
    "Excel, with a title and empty lines", "with remarks",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_same_table_is_the_same_data_set_whoever_wrote_it(raw, form):
    ours, plain = load(raw(written(form), ".csv")), load(raw(written("plain"), ".csv"))
    assert ours.prepared.names == NAMES[:4]
    assert ours.prepared.target.classes == KINDS
    assert ours.prepared.columns == plain.prepared.columns
    for part in PARTS:
        np.testing.assert_array_equal(getattr(ours, part).x, getattr(plain, part).x)
        np.testing.assert_array_equal(getattr(ours, part).y, getattr(plain, part).y)


NUMBERED = lines(*([*row[:4], KINDS.index(row[4])] for row in FLOWERS))
WELL_SAVED = {
    "CRLF": NUMBERED.replace("\n", "\r\n"),
    "CR": NUMBERED.replace("\n", "\r"),
    "BOM": "\ufeff" + NUMBERED,
    "BOM and header": "\ufeffa,b,c,d,label\n" + NUMBERED,
    "blank lines": NUMBERED.replace("\n", "\n\n \n"),
    "blank first": "\n\n" + NUMBERED,
    "blank before header": "\n\na,b,c,d,label\n" + NUMBERED,
    "blank after header": "a,b,c,d,label\n\n" + NUMBERED + "\n\n",
    "no last newline": NUMBERED.rstrip(),
    "spaces": NUMBERED.replace(",", " , "),
    "quoted header": '"a, in mm","b","c","d","label"\n' + NUMBERED,
    "unicode header": '"größe",β,c,"d",类别\n' + NUMBERED,
    "labels 1.0": NUMBERED.replace("\n", ".0\n"),
    "labels 1e0": NUMBERED.replace("\n", "e0\n"),
    "tabs": NUMBERED.replace(",", "\t"),
    "minus signs": NUMBERED.replace("-", "−"),
    "gaps at the end": NUMBERED.replace("\n", ",,\n"),
}


@pytest.mark.parametrize("suffix", [".csv", ".CSV", ".tsv", ".tab"])
@pytest.mark.parametrize("text", WELL_SAVED.values(), ids=WELL_SAVED)
def test_numbers_are_read_however_they_were_saved(raw, text, suffix):
    ours, plain = load(raw(text, suffix)), load(raw(NUMBERED, ".csv"))
    for part in PARTS:
        np.testing.assert_array_equal(getattr(ours, part).x, getattr(plain, part).x)
        np.testing.assert_array_equal(getattr(ours, part).y, getattr(plain, part).y)


def test_a_first_row_of_whole_numbers_is_an_example(raw):
    rows = "0,1,2\n" + lines(*([i, -i, i % 3] for i in range(40)))
    assert sum(map(len, load(raw(rows, ".csv")).rows.values())) == 41


@pytest.mark.parametrize("form", [form for form in FORMS if form[0] in "RpK" and form != "plain"])
def test_row_numbers_are_no_input_and_that_is_told(raw, form):
    data = load(raw(written(form), ".csv"))
    assert set(data.prepared.left_out.values()) == {"row numbers"}
    assert any("row numbers" in line for line in data.about)


@pytest.mark.parametrize("name", ["index", "no", "Id", ""])
def test_row_numbers_are_no_input_where_rows_without_a_target_stand_between_them(raw, name):
    rows = [[i, *row[:4], "" if i % 10 == 3 else row[4]] for i, row in enumerate(FLOWERS)]
    data = load(raw(lines([name, *NAMES], *rows) + ",,,,,\n" * 3, ".csv"))
    assert data.prepared.names == NAMES[:4]
    assert sum(map(len, data.rows.values())) == 135


def test_a_table_without_a_header_is_read_whole(raw):
    data = load(raw(lines(*FLOWERS), ".csv"))
    assert data.prepared.names == [f"column {i}" for i in range(1, 5)]
    assert sum(map(len, data.rows.values())) == 150


def test_it_agrees_with_pandas(raw):
    pd = pytest.importorskip("pandas")
    path = raw(
        "a,b,c,y\n" + lines(*([i * 0.5, "" if i % 7 == 3 else i, f'"x, {i % 3}"', i % 2] for i in range(80))), ".csv"
    )
    ours, theirs = read_table(path).columns, pd.read_csv(path)
    assert list(ours) == list(theirs.columns)
    for name, column in ours.items():
        cells = column.cells() if isinstance(column, Text) else column
        np.testing.assert_array_equal(cells, theirs[name].to_numpy())


# What is in the data set


def table_of(rows=80):
    """Rows with something missing, as they are and as text."""
    made = [
        [round(i * 0.37 % 5, 2), "" if i % 9 == 4 else i % 13, ["red", "blue", "green"][i % 3], "ab"[i * i % 7 % 2]]
        for i in range(rows)
    ]
    return made, "x,n,colour,y\n" + lines(*made)


def test_every_row_is_in_one_part_with_its_own_cells_and_target(raw):
    rows, text = table_of()
    path = raw(text, ".csv")
    data = load(path)
    found = raw_rows(data, read_table(path))
    fill = np.median([rows[i][1] for i in data.rows["train"] if rows[i][1] != ""])
    for i, (x, n, colour, _) in enumerate(rows):
        ones = [float(colour == value) for value in data.prepared.columns[2].values]
        np.testing.assert_allclose(found[i], [x, fill if n == "" else n, *ones], atol=1e-5)
    for part in PARTS:
        assert [data.prepared.target.classes[k] for k in getattr(data, part).y] == [rows[i][3] for i in data.rows[part]]
        assert (getattr(data, part).x.dtype, getattr(data, part).y.dtype) == (np.float32, np.int64)


def test_inputs_are_standardised_by_the_training_part_alone(raw):
    rows, text = table_of()
    data = load(raw(text, ".csv"))
    column = data.prepared.columns[0]
    x = np.array([rows[i][0] for i in data.rows["train"]])
    assert (column.centre, column.scale) == pytest.approx((x.mean(), x.std()))


def test_the_library_loads_it_by_its_name_and_settings(raw):
    path = raw(table_of()[1], ".csv")
    data = ms.load_data({"source": "table", "path": str(path), "target": ["colour"], "ignore": ["n"]})
    assert data.prepared.target.names == ["colour"]
    assert data.prepared.left_out["n"] == "as asked"
    same(data, load(path, target=("colour",), ignore=("n",)))
    assert data.content == ms.load_data({"source": "table", "path": str(path)}).content != ""


def test_without_a_validation_part_its_rows_are_trained_on(raw):
    path = raw(table_of()[1], ".csv")
    whole = ms.load_data({"source": "table", "path": str(path), "hold_out": False})
    split = load(path)
    assert len(whole.train.x) == len(whole.rows["train"]) == len(split.train.x) + len(split.valid.x)
    np.testing.assert_array_equal(whole.rows["train"], np.concatenate([split.rows["train"], split.rows["valid"]]))


def test_another_split_holds_out_other_rows_and_a_seed_does_not(raw):
    path = raw(table_of()[1], ".csv")
    config = {"source": "table", "path": str(path)}
    same(ms.load_data(config, seed=1), ms.load_data(config, seed=2))
    assert list(load(path, split=1).rows["test"]) != list(load(path).rows["test"])


def test_shares_are_of_all_rows(raw):
    data = load(raw(table_of(200)[1], ".csv"), valid_share=0.1, test_share=0.3)
    assert [len(data.rows[part]) for part in PARTS] == [120, 20, 60]


# Targets

N = 60
X = [round(float(v), 3) for v in RNG.normal(size=N)]


def with_target(raw, cells, **wanted):
    return load(raw("x,y\n" + lines(*zip(X, cells, strict=True)), ".csv"), **wanted)


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        ([i % 3 + 1 for i in range(N)], [1, 2, 3]),
        ([i % 2 * 2 - 1 for i in range(N)], [-1, 1]),
        ([f"{i % 3 + 1}.0" for i in range(N)], [1, 2, 3]),
        ([f"{i % 2}e0" for i in range(N)], [0, 1]),
        (["TRUE", "FALSE"] * 30, ["FALSE", "TRUE"]),
        (["yes", "no", "?"] * 20, ["no", "yes"]),
        ([i % 2 / 2 for i in range(N)], [0.0, 0.5]),
    ],
)
def test_classes_are_those_that_are_there(raw, cells, classes):
    data = with_target(raw, cells)
    assert data.loss == "softmax-cross-entropy"
    assert data.prepared.target.classes == classes
    assert data.classes == len(classes)
    assert set(np.concatenate([getattr(data, part).y for part in PARTS])) == set(range(len(classes)))
    counts = np.bincount(data.train.y)
    assert data.baselines["guessing"] == pytest.approx(100 * np.mean(data.test.y != counts.argmax()))


def test_rows_without_a_target_are_left_out_and_told(raw):
    cells = ["" if i % 5 == 0 else i % 2 for i in range(N)]
    data = with_target(raw, cells)
    assert sum(map(len, data.rows.values())) == 48
    assert "12 rows without a y are left out" in data.about
    found = np.concatenate([getattr(data, part).y for part in PARTS])[np.argsort(np.concatenate([*data.rows.values()]))]
    assert found.tolist() == [cell for cell in cells if cell != ""]


def test_numbers_are_predicted_in_their_own_units(raw):
    y = [round(1000 + 50 * x, 3) for x in X]
    data = with_target(raw, y)
    target = data.prepared.target
    assert (data.loss, data.classes, target.classes) == ("mean-squared-error", 1, [])
    assert data.train.y.dtype == np.float32
    assert data.train.y.mean() == pytest.approx(0, abs=1e-5)
    assert data.train.y.std() == pytest.approx(1, abs=1e-5)
    for part in PARTS:
        raw_y = target.centre[0] + target.scale[0] * getattr(data, part).y[:, 0].astype(np.float64)
        np.testing.assert_allclose(raw_y, [y[i] for i in data.rows[part]], rtol=1e-5)
    test = np.array([y[i] for i in data.rows["test"]])
    assert data.baselines["guessing"] == pytest.approx(np.sqrt(((test - target.centre[0]) ** 2).mean()), rel=1e-4)
    assert data.of_loss == {"units": target.scale}


def several(raw, **wanted):
    rows = [[x, 2 * x + 1, i % 7 * x, i % 2, ["no", "yes"][i % 3 > 0], KINDS[i % 3]] for i, x in enumerate(X)]
    return load(raw("x,a,b,c,d,e\n" + lines(*rows), ".csv"), **wanted), rows


def test_several_numbers_are_predicted_together(raw):
    data, rows = several(raw, target=("a", "b"))
    target = data.prepared.target
    assert (data.loss, data.classes, target.names) == ("mean-squared-error", 2, ["a", "b"])
    y = np.array(target.centre) + np.array(target.scale) * data.test.y
    np.testing.assert_allclose(y, [rows[i][1:3] for i in data.rows["test"]], atol=1e-5)
    assert not {"a", "b"} & set(data.prepared.names)


def test_several_questions_are_answered_together(raw):
    data, rows = several(raw, target=("c,d",))
    assert (data.loss, data.classes) == ("sigmoid-cross-entropy", 2)
    assert data.prepared.target.classes == [0, 1, "no", "yes"]
    assert data.test.y.tolist() == [[rows[i][3], rows[i][4] == "yes"] for i in data.rows["test"]]


@pytest.mark.parametrize("target", [("a", "c"), ("a", "e"), ("c", "e")])
def test_targets_of_several_kinds_are_refused(raw, target):
    with pytest.raises(UsageError, match="several targets must all be numbers, or all have two classes"):
        several(raw, target=target)


def test_a_target_too_large_is_refused_without_a_warning(raw):
    with pytest.raises(DataError, match="the target y has values too large"):
        with_target(raw, [f"{i}e200" for i in range(N)])


def test_nothing_to_learn_from_is_refused(raw):
    with pytest.raises(DataError, match=r"no column that could be an input beside y \(x: as asked\)"):
        with_target(raw, [i % 2 for i in range(N)], ignore=("x",))
    with pytest.raises(DataError, match="9 rows with a target are too few; at least 10"):
        with_target(raw, [1, 2] * 4 + [1] + [""] * (N - 9), target=("y",))


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_too_few_rows_are_refused(raw, rows):
    with pytest.raises(DataError):
        load(raw("x,y\n" + lines(*([i, i % 2] for i in range(rows))), ".csv"))


# Inputs


def with_input(raw, cells, **wanted):
    return load(raw("c,x,y\n" + lines(*zip(cells, X, [i % 2 for i in range(N)], strict=True)), ".csv"), **wanted)


def test_numbers_can_be_names_if_that_is_said(raw):
    cells = [[10, 20, 30][i % 3] for i in range(N)]
    assert isinstance(with_input(raw, cells).prepared.columns[0], Numeric)
    named = with_input(raw, cells, categorical=("c",))
    column = named.prepared.columns[0]
    assert column == Categorical("c", column.values)
    assert set(column.values) == {"10", "20", "30"}
    assert [column.values[k] for k in named.test.x[:, :3].argmax(axis=1)] == [str(cells[i]) for i in named.rows["test"]]


def test_rare_categories_are_one(raw):
    cells = ["a", "b"] * 25 + [f"rare {i}" for i in range(10)]
    column = with_input(raw, cells).prepared.columns[0]
    assert column == Categorical("c", column.values, other=True)
    assert set(column.values) == {"a", "b"}


def test_of_many_categories_the_most_frequent_are_kept(raw):
    cells = [f"t{i % 12}" for i in range(N)]
    column = with_input(raw, cells, categories=5).prepared.columns[0]
    assert len(column.values) == 5
    assert column.other


def test_missing_cells_are_a_category_of_their_own_where_training_has_some(raw):
    column = with_input(raw, ["NA", "a", "b"] * 20).prepared.columns[0]
    assert column == Categorical("c", column.values, missing=True)
    assert set(column.values) == {"a", "b"}


LEFT_OUT = {
    "constant": (["k"] * N, "constant, 'k'"),
    "empty": (["n/a", ""] * 30, "empty"),
    "ids": ([f"a{i * 7919 % 1000:03}" for i in range(N)], "nearly every row has another value: identifiers"),
    "dates": ([f"{i % 28 + 1}.{i % 12 + 1}.2020" for i in range(N)], "dates"),
    "text": ([f"there is more to say of {i} than of the others" for i in range(N)], "free text"),
    "as asked": (["a", "b"] * 30, "as asked"),
}


@pytest.mark.parametrize(("cells", "reason"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_no_input_is_left_out_for_a_reason(raw, cells, reason):
    data = with_input(raw, cells, ignore=("c",) if reason == "as asked" else ())
    assert data.prepared.left_out == {"c": reason}
    assert data.prepared.names == ["x"]
    assert any(f"left out: c: {reason}" == line for line in data.about)


def test_a_column_of_more_words_than_are_kept_is_left_out(raw):
    rows = [[f"w{i}", i % 17, i % 2] for i in range(12_000)]
    assert load(raw("c,x,y\n" + lines(*rows, *rows[:20]), ".csv")).prepared.names == ["x"]


def test_a_column_that_is_constant_where_is_trained_is_left_out(raw, monkeypatch):
    cells = [1.0] * N
    held = with_input(raw, [*cells[:-1], 2.0]).rows
    cells[int(held["test"][0])] = 2.0
    assert with_input(raw, cells).prepared.left_out == {"c": "constant in the training part"}
    blank = [""] * N
    blank[int(held["test"][0])], blank[int(held["valid"][0])] = "1.5", "2.5"
    assert with_input(raw, blank).prepared.left_out == {"c": "empty in the training part"}


def test_too_many_inputs_are_refused(raw, monkeypatch):
    monkeypatch.setattr(tables, "MAX_INPUTS", 3)
    with pytest.raises(DataError, match="4 inputs, at most 3"):
        with_input(raw, ["a", "b", "c"] * 20)


# As it was for a model


def test_a_table_that_was_prepared_is_prepared_the_same_way_again(raw):
    rows, text = table_of()
    path = raw(text, ".csv")
    data = load(path)
    same(load(path, data.prepared), data)
    stored = msgspec.json.decode(msgspec.json.encode(data.prepared), type=TableInputs)
    path.write_text("x,more,n,colour,y\n" + lines(*([100 * x, "z", n, c, y] for x, n, c, y in rows)))
    again = load(path, stored, target=("colour",))  # what the model is asked for counts
    assert again.prepared == data.prepared
    column = data.prepared.columns[0]
    expected = (100 * np.array([row[0] for row in rows]) - column.centre) / column.scale
    np.testing.assert_allclose(again.test.x[:, 0], expected[again.rows["test"]], rtol=1e-5)


CODES = ["01", "02", "A1"]


def test_names_that_look_like_numbers_in_other_rows_are_the_same_names(raw):
    """A column of 01, 02 and A1 is text; in new rows that have no A1 it was numbers, and 01 unknown."""
    text = "c,x,y\n" + lines(*([CODES[i % 3], x, CODES[i % 2]] for i, x in enumerate(X)))
    data = load(raw(text, ".csv"))
    values = data.prepared.columns[0].values
    numbers_only = "c,x,y\n" + lines(*(["01", x, CODES[i % 2]] for i, x in enumerate(X)))
    again = load(raw(numbers_only, ".csv"), data.prepared)
    assert (again.train.x[:, values.index("01")] == 1).all()


def test_classes_that_look_like_numbers_in_other_rows_are_the_same_classes(raw):
    data = load(raw("x,y\n" + lines(*([x, CODES[i % 3]] for i, x in enumerate(X))), ".csv"))
    path = raw("x,y\n" + lines(*([x, CODES[i % 2]] for i, x in enumerate(X))), ".csv")
    again = load(path, data.prepared)
    assert [CODES[k] for k in again.test.y] == [CODES[i % 2] for i in again.rows["test"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,colour,y\n" + lines(*([1, "red", "a"] for _ in range(20))), "has no column 'n' any more"),
        ("x,n,colour\n" + lines(*([1, 2, "red"] for _ in range(20))), "has no column 'y' any more"),
        ("x,n,colour,y\n" + lines(*([1, 2, "red", "ac"[i % 2]] for i in range(20))), "the class 'c' in row 2"),
        ("x,n,colour,y\n" + lines(*([1, 2, "red", i % 2] for i in range(20))), "the class '0' in row 1"),
        (
            "x,n,colour,y\n" + lines(*([1, 2, f"w{i}", "ab"[i % 2]] for i in range(12_000))) + "1,2,red,a\n" * 9,
            "colour has more than 10,000 different cells",
        ),
    ],
)
def test_a_table_that_is_not_the_models_any_more_is_refused_with_the_difference(raw, text, words):
    prepared = load(raw(table_of()[1], ".csv")).prepared
    with pytest.raises(DataError, match=words):
        load(raw(text, ".csv"), prepared)


def test_a_model_of_numbers_takes_no_words(raw):
    prepared = with_target(raw, X[::-1]).prepared
    with pytest.raises(DataError, match="y holds text; the model predicts numbers"):
        with_target(raw, ["a", "b"] * 30, prepared=prepared)


# Files that are none


NO_TABLES = {
    "header alone": ("a,b,c,label\n", "no rows of data"),
    "blanks": ("\n\n \n", "the file is empty"),
    "one column": ("label\n" + "1\n0\n" * 20, "only one column, beginning with 'label'"),
    "html": (
        "<!DOCTYPE html>\n<html><body>404, not found</body></html>\n",
        "only one column, beginning with .<!DOCTYPE html>",
    ),
    "zeros": ("\0" * 1000, "bytes of zero"),
    "zip": ("PK\3\4" + "\0" * 26, "bytes of zero"),
    "long row": (NUMBERED + "1,2,3,4,5,6\n", "line 151: 6 cells, expected 5"),
    "open quote": (NUMBERED + '1,2,"3,4,0\n', "line 151: a quoted cell never ends"),
}


@pytest.mark.parametrize(("text", "words"), NO_TABLES.values(), ids=NO_TABLES)
def test_what_is_no_table_is_refused_with_the_place(raw, text, words):
    with pytest.raises(DataError, match=words) as caught:
        load(raw(text, ".csv"))
    message = str(caught.value)
    assert "mine.csv" in message
    assert message.isprintable()
    assert len(message) < 500


@pytest.mark.parametrize("name", ["\x1b]0;title\x07red", "n" * 5000])
def test_a_name_in_the_file_cannot_fill_or_write_on_the_terminal(raw, name):
    for text in (f"x,{name}\n" + "1,a\n" * 40, f"x,{name}\n" + lines(*([i % 7, f"{i}e300"] for i in range(40)))):
        with pytest.raises(DataError) as caught:
            load(raw(text, ".csv"))
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500
    data = load(raw(f"x,{name},y\n" + lines(*([i % 7, f"{name}{i % 2}", i % 2] for i in range(40))), ".csv"))
    assert all(line.isprintable() and len(line) < 300 for line in data.about)


def test_what_is_no_file_is_refused_by_name(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name, words in (("none.csv", "no such file"), ("folder.csv", "not a file")):
        with pytest.raises(DataError, match=words) as caught:
            load(tmp_path / name)
        assert name in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(DataError, match="not a file"):
        load(tmp_path / f"pipe{suffix}")


def test_a_file_without_read_permission_is_refused(raw):
    path = raw(table_of()[1], ".csv")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("permissions do not bind this user")
    with pytest.raises(DataError, match="denied"):
        load(path)
