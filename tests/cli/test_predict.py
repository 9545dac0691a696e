"""minisig predict: one line out for every row in, the very answers of the process that trained the model."""

import csv
import json
import os
import shutil
import sys
from functools import partial

import numpy as np
import pytest
from scipy.special import expit, softmax

import minisig as ms
from minisig.data.dataset import CHUNK
from tests.cli.command import cli as command
from tests.cli.command import python_m, strict, tree
from tests.support import shop

cli = partial(command, "predict")


def table(text):
    return [*csv.reader(text.splitlines())]


@pytest.fixture
def lone(here, own):
    """A model's file alone in an empty folder, the name of it, and what there is to know of it."""

    def of(kind):
        it = own(kind)
        shutil.copy(it.model, here / f"{kind}.safetensors")
        return it, f"{kind}.safetensors"

    return of


@pytest.fixture
def rows(here):
    """Write what is to be predicted."""
    return lambda columns, name="new.csv": shop.write(here / name, columns).name


# In another process, from the file alone


def test_a_process_that_has_the_file_alone_answers_as_the_one_that_trained_it(tmp_path):
    """Text, categories and missing cells among the rows; the run and its data are deleted."""
    for name in ("made", "empty"):
        (tmp_path / name).mkdir()
    it, empty = shop.trained("fruit", tmp_path / "made"), tmp_path / "empty"
    shutil.copy(it.model, empty)
    test, logits = it.test, it.logits
    assert {"", "NA"} <= {*test["colour"], *test["weight"]}
    shutil.rmtree(tmp_path / "made")
    shop.write(empty / "new.csv", shop.without(test, "fruit"))
    done = python_m("predict", "best.safetensors", "new.csv", "--proba", cwd=empty, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    head, *found = table(done.stdout)
    assert head == ["prediction", "p(apple)", "p(pear)", "p(plum)"]
    assert [row[0] for row in found] == [("apple", "pear", "plum")[place] for place in logits.argmax(axis=1)]
    chances = np.array([row[1:] for row in found], np.float64)
    assert chances.tobytes() == softmax(logits.astype(np.float64), axis=1).tobytes()


@pytest.mark.parametrize("args", [["-"], []], ids=["dash", "nothing"])
def test_a_pipe_is_read_and_written(lone, args):
    it, model = lone("fruit")
    given = shop.write(it.folder.parent / "given.csv", it.test).read_bytes()
    done = python_m("predict", model, *args, "--json", input=given)
    assert done.returncode == 0
    assert strict(done.stdout)["probabilities"] == softmax(it.logits.astype(np.float64), axis=1).tolist()


def test_a_reader_that_leaves_early_is_left_in_peace(lone, rows):
    it, model = lone("fruit")
    rows({name: cells * 200 for name, cells in it.test.items()})
    read, write = os.pipe()
    os.close(read)
    done = python_m("predict", model, "new.csv", "--proba", stdout=write, capture_output=False, stderr=-1)
    os.close(write)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full there")  # noqa: PTH110
@pytest.mark.parametrize("args", [[], ["--json"], ["--out", "/dev/full"]], ids=["csv", "json", "out"])
def test_a_full_disk_is_told_in_one_line(lone, rows, args):
    it, model = lone("fruit")
    rows(it.test)
    with open("/dev/full", "w") as full:  # noqa: PTH123
        stdout = {} if "--out" in args else {"stdout": full, "capture_output": False, "stderr": -1}
        done = python_m("predict", model, "new.csv", *args, **stdout)
    said = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert said[-1].startswith("Error: ")
    assert "No space left on device" in said[-1]
    assert sum(line.startswith("Error") for line in said) == 1
    assert "Traceback" not in done.stderr.decode()
    assert "Exception ignored" not in done.stderr.decode()


# Tables in every form


def answered(it):
    """What the process that trained it says, as predict writes it."""
    if len(it.targets) > 1 or it.targets == ("price",):
        model = ms.load(it.folder)
        return [[str(cell) for cell in np.atleast_1d(row).tolist()] for row in model.answers(it.logits)]
    return [[str(it.data.prepared.target.classes[place])] for place in it.logits.argmax(axis=1)]


@pytest.mark.parametrize("kind", [*shop.TARGETS])
def test_every_kind_of_answer_is_that_of_the_training_process(lone, rows, kind):
    it, model = lone(kind)
    result = cli(model, rows(it.test))
    head, *found = table(result.stdout)
    assert result.exit_code == 0
    assert head == (["prediction"] if len(it.targets) == 1 else [f"prediction({name})" for name in it.targets])
    assert found == answered(it)


@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.csv.gz", "new.tsv.gz", "new.parquet"])
@pytest.mark.parametrize("change", ["", "no target", "another order", "more columns"])
def test_a_table_in_any_form_is_answered_bit_for_bit(lone, rows, name, change):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    it, model = lone("fruit")
    columns = shop.without(it.test, "fruit") if change == "no target" else it.test
    if change == "another order":
        columns = dict(reversed(columns.items()))
    if change == "more columns":
        columns = {"id": [f"row {i}" for i in range(len(it.logits))]} | columns | {"zero": ["0"] * len(it.logits)}
    result = cli(model, rows(columns, name), "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["probabilities"] == softmax(it.logits.astype(np.float64), axis=1).tolist()


def test_a_file_in_pieces_is_answered_as_a_whole(lone, rows):
    it, model = lone("fruit")
    many = {name: cells * (2 * CHUNK // len(it.logits) + 11) for name, cells in it.test.items()}
    assert len(many["year"]) % CHUNK > 100
    result = cli(model, rows(many), "--proba")
    loaded = ms.load(it.folder)
    _, *found = table(result.stdout)
    assert [row[0] for row in found] == loaded.predict(many).tolist()
    np.testing.assert_array_equal(np.array([row[1:] for row in found], float), loaded.predict_proba(many))
    assert strict(cli(model, "new.csv", "--json").stdout)["predictions"] == [row[0] for row in found]


def test_a_header_alone_is_answered_with_one(lone, here):
    _, model = lone("fruit")
    (here / "new.csv").write_text("colour,weight,year,discount\n")
    result = cli(model, "new.csv", "--proba")
    assert (result.exit_code, result.stdout) == (0, "prediction,p(apple),p(pear),p(plum)\n")
    assert strict(cli(model, "new.csv", "--json").stdout) == {
        "predictions": [],
        "classes": ["apple", "pear", "plum"],
        "probabilities": [],
    }


@pytest.mark.parametrize("cell", ["10%", "20%", "none given"])
def test_a_category_is_a_word_even_where_all_of_a_file_look_like_numbers(lone, rows, cell):
    it, model = lone("fruit")
    result = cli(model, rows({"colour": ["red"], "weight": ["90"], "year": ["2000"], "discount": [cell]}), "--json")
    row = {"colour": "red", "weight": 90, "year": 2000, "discount": cell}
    assert result.stderr == ""
    assert json.loads(result.stdout)["probabilities"] == ms.load(it.folder).predict_proba([row]).tolist()


# The shapes of the answers


def test_json_is_one_object_of_the_shape_that_was_promised(lone, rows):
    for kind, names in (("fruit", ["apple", "pear", "plum"]), ("grade", [1, 2, 3]), ("labels", ["no", "yes", 0, 1])):
        it, model = lone(kind)
        result = cli(model, rows(it.test), "--json")
        assert result.stdout.count("\n") == 1
        found = strict(result.stdout)
        assert found.keys() == {"predictions", "classes", "probabilities"}
        assert found["classes"] == names
        assert len(found["predictions"]) == len(found["probabilities"]) == len(it.logits)
        if kind == "labels":
            assert found["probabilities"] == expit(it.logits.astype(np.float64)).tolist()
            assert {type(cell) for row in found["predictions"] for cell in row} == {str, int}
        else:
            assert {*found["predictions"]} <= {*names}
    for kind in ("price", "prices"):
        it, model = lone(kind)
        found = strict(cli(model, rows(it.test), "--json").stdout)
        assert found == {"predictions": ms.load(it.folder).answers(it.logits).tolist()}


def test_the_probability_of_a_label_is_that_of_its_second_word(lone, rows):
    it, model = lone("labels")
    head, *found = table(cli(model, rows(it.test), "--proba").stdout)
    assert head == ["prediction(ripe)", "prediction(sold)", "p(ripe=yes)", "p(sold=1)"]
    assert all((row[0] == "yes") == (float(row[2]) > 0.5) for row in found)
    assert all((row[1] == "1") == (float(row[3]) > 0.5) for row in found)


def test_there_are_no_probabilities_of_numbers(lone, rows, refused):
    it, model = lone("price")
    rows(it.test)
    assert "the model predicts numbers (price)" in refused(2, "predict", model, "new.csv", "--proba")


# What the training data did not have


def test_what_is_unknown_is_told_on_stderr_and_answered(lone, rows):
    it, model = lone("fruit")
    columns = {name: cells[:3] for name, cells in it.test.items()}
    columns |= {"colour": ["mauve", "teal", "mauve"], "weight": ["heavy", "", "100"]}
    result = cli(model, rows(columns))
    assert result.exit_code == 0
    assert len(table(result.stdout)) == 4
    assert result.stderr.splitlines() == [
        "weight: 'heavy' (1 cells) taken as missing, expected numbers",
        "colour: 'mauve', 'teal' (3 cells) not among the training data's categories",
        "weight: 2 missing, filled as while training",
    ]


def test_what_a_file_says_does_not_command_the_terminal(lone, rows):
    it, model = lone("fruit")
    result = cli(model, rows({name: [*cells[:2]] for name, cells in it.test.items()} | {"colour": ["\x1b[31m", "red"]}))
    assert "\x1b" not in result.stderr
    assert "x1b[31m" in result.stderr


# What is refused, with nothing on stdout


def test_a_missing_column_is_named_and_nothing_is_answered(lone, rows, refused):
    it, model = lone("fruit")
    rows(shop.without(it.test, "weight"))
    assert "no column 'weight', which the model needs; there are 'colour', 'year'" in refused(
        5, "predict", model, "new.csv"
    )


@pytest.mark.parametrize("form", [[], ["--json"], ["--out", "answers.csv"]], ids=["csv", "json", "out"])
def test_files_that_are_not_there_or_empty_are_refused(lone, here, refused, form):
    _, model = lone("fruit")
    assert "nosuch.csv: no such file" in refused(5, "predict", model, "nosuch.csv", *form)
    (here / "new.csv").write_text("")
    assert "the file is empty" in refused(5, "predict", model, "new.csv", *form)
    assert "no such file" in refused(5, "predict", "nosuch", "new.csv", *form)
    assert "is not finished" in refused(5, "predict", ".", "new.csv", *form)


def test_what_is_no_model_is_refused(here, refused):
    (here / "model.txt").write_text("mine")
    (here / "model.safetensors").write_bytes(b"mine")
    assert "a .safetensors file" in refused(2, "predict", "model.txt", "new.csv")
    assert "model.safetensors" in refused(5, "predict", "model.safetensors", "new.csv")


def test_a_model_of_sequences_is_refused(here, refused):
    small = {"iterations": 2, "network.hidden": [5], "batch_size": 4, "data.delay": 5}
    ms.run(ms.configure("copy-memory", small), here / "run")
    assert "copy-memory is a model of sequences" in refused(2, "predict", "run", "new.csv")
    assert "copy-memory is a model of sequences" in refused(2, "test", "run", "new.csv")


def test_a_backend_that_is_not_there_is_exit_code_3(lone, rows, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    it, model = lone("fruit")
    rows(it.test)
    for name in ("predict", "test"):
        assert "CuPy is not installed" in refused(3, name, model, "new.csv", "--backend", "cupy")
        assert "unknown backend 'nunpy'. Did you mean 'numpy'?" in refused(
            2, name, model, "new.csv", "--backend", "nunpy"
        )


# --out


def test_a_file_is_written_whole(lone, rows, here):
    it, model = lone("fruit")
    new = rows(it.test)
    printed = cli(model, new, "--proba").stdout
    result = cli(model, new, "--proba", "--out", "answers.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (here / "answers.csv").read_text() == printed
    assert cli(model, new, "--json", "--out", "answers.json").stdout == ""
    assert strict((here / "answers.json").read_text()) == strict(cli(model, new, "--json").stdout)


def test_nothing_is_left_of_a_file_that_could_not_be_finished(lone, here):
    it, model = lone("fruit")
    shop.write(here / "new.csv", {name: cells * 80 for name, cells in it.test.items()})
    with (here / "new.csv").open("a") as file:
        file.write("red,90,2000,10%,apple,one,cell,too,many\n")
    (here / "answers.csv").write_text("of before")
    before = tree(here)
    result = cli(model, "new.csv", "--out", "answers.csv")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "9 cells, expected 5" in result.stderr
    assert tree(here) == before


def test_a_file_is_not_written_where_there_is_no_folder(lone, rows, refused):
    it, model = lone("fruit")
    assert "no/such" in refused(2, "predict", model, rows(it.test), "--out", "no/such/answers.csv")


def test_answers_may_take_the_place_of_the_questions(lone, rows, here):
    it, model = lone("fruit")
    wanted = cli(model, rows(it.test)).stdout
    assert cli(model, "new.csv", "--out", "new.csv").exit_code == 0
    assert (here / "new.csv").read_text() == wanted


# Vectors


def test_digits_are_predicted_from_a_file_of_pixels(here, digits):
    ms.run(ms.configure("digits", {"iterations": 30, "network.hidden": [12]}), here / "run")
    raw, model = (digits.test.x + 1) * 8, ms.load(here / "run")
    np.savetxt(here / "pixels.csv", raw, fmt="%d", delimiter=",")
    found = json.loads(cli("run", "pixels.csv", "--json").stdout)
    assert found["classes"] == [*range(10)]
    assert found["probabilities"] == softmax(model.net.forward(digits.test.x).astype(np.float64), axis=1).tolist()
    named = {f"x{i}": raw[:, i] for i in reversed(range(64))} | {"id": np.arange(300)}
    np.savetxt(here / "named.csv", np.stack([*named.values()], axis=1), "%d", ",", header=",".join(named), comments="")
    assert json.loads(cli("run", "named.csv", "--json").stdout) == found
    np.savetxt(here / "digits.csv", np.c_[raw, digits.test.y], fmt="%d", delimiter=",")
    assert json.loads(cli("run", "digits.csv", "--json").stdout) == found
    tested = json.loads(command("test", "run", "digits.csv", "--json").stdout)
    assert tested["test_error"] == model.summary["test_error"]
    result = command("test", "run", "pixels.csv")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "no column 'label', the answers to test by" in result.stderr
