"""Models, tables and texts that somebody made to do harm: each is used or refused, soon and in little memory."""

import gzip
import json
import os
import re
import shutil
import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

import minisig as ms
from minisig.data import frame
from minisig.data.prepared import MAX_NOTICED
from minisig.errors import DataError
from minisig.training.model_file import KEY, read_model
from minisig.training.run import run
from tests.cli.command import cli, python_m, tree
from tests.faults.runs import kind
from tests.support import shop

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes, devices and links are others there")
ESCAPE = "\x1b]0;owned\x07\x9b31m"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@contextmanager
def little_memory(megabytes):
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 2**20
    finally:
        tracemalloc.stop()


@pytest.fixture
def good(here, own):
    """A model and a table in the folder to stand in."""
    it = own("fruit")
    (here / "model.safetensors").write_bytes(it.model.read_bytes())
    shop.write(here / "good.csv", it.test)
    return it


@pytest.fixture
def rewritten(good, here):
    """The model's file, with something else said in it, or other arrays beside its own."""

    def write(change, arrays=None):
        info = json.loads(_said(here / "model.safetensors"))
        change(info)
        save_file(load_file(good.model) | (arrays or {}), here / "model.safetensors", {KEY: json.dumps(info)})

    return write


def _said(path):
    content = path.read_bytes()
    return json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"][KEY]


# What is no file


def place(folder, kind, name):
    match kind:
        case "pipe":
            os.mkfifo(folder / name)
        case "folder":
            (folder / name).mkdir()
        case "link to itself":
            (folder / name).symlink_to(name)
        case "link to a device without end":
            (folder / name).symlink_to("/dev/zero")
        case "nothing in it":
            (folder / name).touch()


PLACES = ["pipe", "folder", "link to itself", "link to a device without end", "nothing in it"]
USES = [("predict",), ("test",), ("export", "it.onnx"), ("sample",), ("score",)]


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("use", USES, ids=lambda use: use[0])
def test_what_is_no_model_file_is_refused_at_once(good, here, refused, kind, use):
    place(here, kind, "bad.safetensors")
    (here / "good.txt").write_text("a text\n")
    file = {"predict": ["good.csv"], "test": ["good.csv"], "score": ["good.txt"]}.get(use[0], [])
    assert "bad.safetensors" in refused(5, use[0], "bad.safetensors", *use[1:], *file)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_what_is_no_table_is_refused_at_once(good, here, refused, kind, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    name = f"bad.{suffix}"
    place(here, kind, name)
    for use in (("predict", "model.safetensors"), ("test", "model.safetensors"), ("train", "--out", "run")):
        assert re.search(r"bad\.|standard input", refused(5, *use, name))


def test_a_link_to_a_good_file_is_as_good(good, here):
    (here / "link.safetensors").symlink_to("model.safetensors")
    (here / "link.csv").symlink_to("good.csv")
    straight = cli("predict", "model.safetensors", "good.csv")
    assert cli("predict", "link.safetensors", "link.csv").stdout == straight.stdout != ""


@pytest.mark.parametrize("name", ["good.csv", "/dev/null", "/dev/zero", "/dev/stdin"])
def test_a_model_has_a_name_of_its_own(good, refused, name):
    assert "expected a run's folder" in refused(2, "predict", name, "good.csv")


# Models that ask for more than they hold


def hidden(sizes):
    return lambda info: info["config"]["network"].update(hidden=sizes)


@pytest.mark.parametrize("sizes", [[10**8], [1] * 5_000_000, [8] * 10_000], ids=["wide", "deepest", "deep"])
def test_layers_that_are_not_there_are_refused_before_they_are_made(rewritten, sizes):
    rewritten(hidden(sizes))
    started = time.process_time()
    with pytest.raises(DataError, match="its arrays are not those"):
        ms.load("model.safetensors")
    assert time.process_time() - started < 10


def test_one_large_array_and_many_small_ones_do_not_stand_for_many_large_layers(rewritten, good):
    """No layer of these is larger than the largest array, and there are as many; together they would take 4 GB."""
    W = np.ones((10**6,), np.float32)
    rewritten(hidden([1000] * 1000), {"dense0.x": W} | {f"x{i}": W[:1] for i in range(2000)})
    with little_memory(50), pytest.raises(DataError, match="its arrays are not those"):
        ms.load("model.safetensors")


def test_a_description_of_ninety_megabytes_is_read_or_refused(rewritten):
    rewritten(lambda info: info.update(name="x" * 90_000_000))
    with little_memory(400), pytest.raises(DataError, match="length <= 1000"):
        ms.load("model.safetensors")
    rewritten(lambda info: info["summary"].update(more="x" * 90_000_000) or info.update(name="shop.csv"))
    with little_memory(400):
        assert ms.load("model.safetensors").classes


def test_answers_that_would_not_be_finite_are_refused(own, here, refused, tmp_path):
    """Finite weights and scales whose product is not."""
    it = own("price")
    _, arrays = read_model(it.model)
    arrays = {name: np.full_like(w, 3e38) if name == "dense1.W" else w for name, w in arrays.items()}
    save_file(arrays, here / "model.safetensors", {KEY: _said(it.model)})
    shop.write(here / "good.csv", it.test)
    for use in (("predict",), ("predict", "--json"), ("test",)):
        before = tree(here)
        result = cli(*use, "model.safetensors", "good.csv")
        assert (result.exit_code, result.stdout) == (5, "")
        assert "not finite" in result.stderr
        assert tree(here) == before


def test_a_text_that_would_be_written_by_numbers_without_bounds_is_not(tmp_path, here):
    run(kind("text", tmp_path / "words"), tmp_path / "run")
    model = tmp_path / "run" / "best.safetensors"
    info, arrays = _said(model), load_file(model)
    arrays["dense.W"] = np.full_like(arrays["dense.W"], 3e38) * np.resize([1, -1], arrays["dense.W"].shape)
    save_file(arrays, here / "model.safetensors", {KEY: info})
    (here / "good.txt").write_text("w1 w2 w3\n")
    for use in (("sample",), ("sample", "--temperature", "0"), ("score", "good.txt"), ("score", "good.txt", "--lines")):
        result = cli(use[0], "model.safetensors", *use[1:])
        assert (result.exit_code, result.stdout.strip()) == (4, "")
        assert "not finite" in result.stderr


def test_arrays_of_complex_numbers_are_none(rewritten, good):
    W = load_file(good.model)["dense0.W"].astype(np.complex64)
    try:
        rewritten(lambda info: None, {"dense0.W": W})
    except SafetensorError:
        pytest.skip("this safetensors has no complex numbers")
    with pytest.raises(DataError, match=r"dense0\.W: expected real numbers, got complex64"):
        ms.load("model.safetensors")


@pytest.mark.parametrize(
    "change",
    [
        lambda info: info["prepared"]["target"].update(task="labels"),
        lambda info: info["prepared"]["target"].update(task="regression"),
        lambda info: info["prepared"]["target"].update(classes=["apple", "apple", "plum"]),
        lambda info: info["prepared"]["target"].update(classes=[1, 1.0, "1"]),
        lambda info: info["prepared"]["target"].update(names=["fruit", "price"]),
        lambda info: info.update(loss="sigmoid-cross-entropy"),
        lambda info: info.update(loss="mean-squared-error"),
        lambda info: info.update(units=[1.0, 1.0, 1.0]),
    ],
    ids=[
        "labels",
        "regression",
        "one class twice",
        "one number thrice",
        "two targets",
        "yes or no",
        "squares",
        "units",
    ],
)
def test_answers_have_one_meaning_that_fits_the_network(rewritten, change):
    rewritten(change)
    with pytest.raises(DataError, match="does not fit together"):
        ms.load("model.safetensors")


# Tables that are larger than they look


HEAD = ",".join(shop.cells(1))
ROW = ",".join(cells[1] for cells in shop.cells(2).values())


def packed(path, *parts):
    """A gzipped file of these texts, each so many times, a thousandth of its size."""
    with gzip.open(path, "wt", compresslevel=6) as file:
        for text, times in parts:
            for _ in range(times):
                file.write(text)
    assert path.stat().st_size < 400_000
    return path


BOMBS = {
    "blank lines": ("\n" * 2**20, 64),
    "one line": ("a" * 2**20, 64),
    "one cell": ('"' + "a\n" * 2**19, 64),
    "delimiters": ("," * 2**20, 64),
    "zeros": ("\0" * 2**20, 64),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_of_sixty_four_megabytes_is_read_in_little_memory_or_refused(good, here, kind):
    packed(here / "bomb.csv.gz", (f"{HEAD}\n", 1), (f"{ROW}\n", 20), BOMBS[kind])
    for use in (("predict", "model.safetensors"), ("train", "--iterations", "1", "--out", "run")):
        started = time.process_time()
        with little_memory(100):
            result = cli(*use, "bomb.csv.gz")
        assert result.exit_code == (5 if use[0] == "train" or kind != "blank lines" else 0), result.stderr
        assert time.process_time() - started < 20
        assert not (here / "run").exists()


def test_a_bomb_of_rows_is_answered_row_by_row_and_not_trained_on(good, here, monkeypatch):
    packed(here / "bomb.csv.gz", (f"{HEAD}\n", 1), (f"{ROW}\n" * 1000, 30))
    with little_memory(60):
        assert cli("predict", "model.safetensors", "bomb.csv.gz", "--out", "answers.csv").exit_code == 0
    assert (here / "answers.csv").read_bytes().count(b"\n") == 30_001
    monkeypatch.setattr(frame, "MAX_CELLS", 10**5)
    with little_memory(60):
        assert "more than 100,000 cells" in cli("train", "bomb.csv.gz", "--out", "run").stderr


def test_sixty_thousand_columns_are_too_many(good, here, refused):
    (here / "wide.csv").write_text("".join(",".join(f"{x}{i}" for i in range(60_000)) + "\n" for x in ("c", 1, 2)))
    for use in (("predict", "model.safetensors"), ("test", "model.safetensors"), ("train",)):
        assert "60,000 columns" in refused(5, *use, "wide.csv")


def test_a_name_among_many_is_refused_without_all_of_them(here, refused):
    lines = [",".join(f"{x}{i}" for i in range(5000)) for x in ["column", *range(12)]]
    (here / "wide.csv").write_text("\n".join(lines) + "\n")
    said = refused(2, "train", "wide.csv", "--target", "colum")
    assert "Did you mean" in said
    assert len(said) < 3000


def test_a_hundred_thousand_words_are_counted_and_a_thousand_of_them_kept(good, here):
    """Of a column of categories as of one of classes."""
    N = 100_000
    row = dict(zip(HEAD.split(","), ROW.split(","), strict=True))
    cells = row | {"colour": "w{0}", "fruit": "k{0}"}
    lines = [",".join(cells.values()).format(i) for i in range(N)]
    (here / "words.csv").write_text("\n".join([HEAD, ROW, *lines]) + "\n")
    tested = cli("test", "model.safetensors", "words.csv")
    assert tested.stdout.startswith("1 rows:")
    assert f"{N:,} rows of classes that the model does not know ('k0', 'k1', 'k2') are left out" in tested.stderr
    told = cli("predict", "model.safetensors", "words.csv").stderr
    assert f"colour: 'w0', 'w1', 'w2' and {MAX_NOTICED - 3} others ({N:,} cells)" in told


# Names that would command the terminal, or the browser


@pytest.fixture
def evil(here):
    """A table whose names, categories and classes are commands to a terminal and markup."""
    columns = shop.without(shop.cells(), "fruit", "price", "tax", "ripe", "sold", "year")
    columns = {
        f"{name}{ESCAPE}{MARKUP}": [f"{c}{ESCAPE}" * (name == "colour") or c for c in cells]
        for name, cells in columns.items()
    }
    columns["kind"] = [f"{'ab'[i % 2]}{ESCAPE}{MARKUP}" for i in range(shop.N)]
    shop.write(here / "evil.csv", columns)
    return columns


def printable(text):
    return all(c.isprintable() or c == "\n" for c in text)


def test_commands_to_a_terminal_are_data_in_a_pipe_and_spelt_out_anywhere_else(evil, here):
    train = cli("train", "evil.csv", "--iterations", "5", "--hidden", "4", "--out", "run")
    assert train.exit_code == 0, train.stderr
    assert "owned" in train.stderr
    for args in (["predict", "run", "evil.csv"], ["test", "run", "evil.csv"], ["inspect", "run"]):
        done = cli(*args)
        assert done.exit_code == 0, done.stderr
        assert printable(done.stderr)
        assert printable(done.stdout) == (args[0] != "predict")
    assert printable(train.stdout + train.stderr)
    proba = cli("predict", "run", "evil.csv", "--proba").stdout
    assert proba.startswith(f"prediction,p(a{ESCAPE}{MARKUP})")
    assert printable(cli("predict", "run", "evil.csv", "--proba", "--json").stdout)
    (here / "other.csv").write_text("a,b\n1,2\n3,4\n")
    refused = cli("predict", "run", "other.csv").stderr
    assert "owned" in refused
    assert printable(refused)


def test_a_terminal_is_shown_what_a_pipe_is_given(evil, here):
    pty = pytest.importorskip("pty")
    cli("train", "evil.csv", "--iterations", "5", "--hidden", "4", "--out", "run")
    (here / "few.csv").write_text("\n".join((here / "evil.csv").read_text().split("\n")[:5]) + "\n")
    master, slave = pty.openpty()
    try:
        python_m("predict", "run", "few.csv", "--proba", stdout=slave, capture_output=False, cwd=here)
        shown = os.read(master, 100_000).decode()
    finally:
        os.close(master)
        os.close(slave)
    assert "owned" in shown
    assert printable(shown.replace("\r\n", "\n"))


# Options


ODD = [
    "", "x", "nosuch", "fruit,", "fruit,nosuch", "-1", "1e999", "NaN", "null", "[]", "[null]", '["fruit", 5]',
    '[["fruit"]]', "true", "0.5", "9" * 5000, "a" * 10_000, "1e-400", "é\u202e", "\x1b[31m", "a\nb", "\0", "\udcff",
    "[" * 500 + "]" * 500, '{"a":' * 500 + "1" + "}" * 500, "[" * 100_000,
]  # fmt: skip
FINE = {"--target": "year", "--ignore": "year", "--task": "classification", "--epochs": "2", "data": '{"split": 1}'}
FINE |= dict.fromkeys(("target", "ignore", "categorical"), '["year"]') | {"task": "regression", "source": "table"}
FINE |= {"categories": "5", "split": "1", "valid_share": "0.2", "test_share": "0.2"}
OPTIONS = ["--target", "--ignore", "--task", "--epochs"]
SETTINGS = ["target", "ignore", "categorical", "task", "categories", "split", "valid_share", "test_share", "source"]


@pytest.mark.parametrize("option", [*OPTIONS, "data", *(f"data.{name}" for name in SETTINGS)])
def test_odd_values_of_what_a_table_can_be_told_are_taken_or_refused(here, option):
    shop.write(here / "good.csv", shop.cells(40))
    before = tree(here)
    codes = set()
    for value in [FINE[option.removeprefix("data.")], *ODD]:
        given = [option, value] if option.startswith("-") else ["--set", f"{option}={value}"]
        passes = [] if option == "--epochs" else ["--iterations", "1"]
        result = cli("train", "good.csv", "--hidden", "2", "--out", "run", *passes, *given)
        assert result.exit_code in (0, 2, 5), (value[:50], result.output[-300:])
        assert printable(result.stderr), value[:50]
        codes.add(result.exit_code)
        if result.exit_code:
            assert len([line for line in result.stderr.splitlines() if line.startswith("Error: ")]) == 1
            assert tree(here) == before, value[:50]
        shutil.rmtree(here / "run", ignore_errors=True)
    assert codes >= {0, 2}  # else nothing is tried
