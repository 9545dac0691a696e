"""minisig test: how good a model is on other rows, as scikit-learn would say it."""

import json

import numpy as np
import pytest

from tests.cli.command import cli, python_m, strict
from tests.support import shop


@pytest.fixture
def rows(here):
    return lambda columns, name="more.csv": shop.write(here / name, columns).name


@pytest.mark.parametrize("kind", [*shop.TARGETS])
def test_the_rows_that_were_held_out_give_the_metrics_of_the_summary(own, rows, kind):
    it = own(kind)
    result = cli("test", it.model, rows(it.test), "--json")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1)
    found = strict(result.stdout)
    wanted = {name: value for name, value in it.summary.items() if name.startswith("test_")}
    assert {name: value for name, value in found.items() if name.startswith("test_")} == wanted
    assert found["rows"] == len(it.logits)
    if kind in ("fruit", "grade", "double"):
        quality = it.summary["quality"]
        assert [found["classes"], found["confusion"]] == [quality["classes"], quality["confusion"]]
        assert found["per_class"] == quality["per_class"]


def test_a_file_in_pieces_is_tested_as_a_whole(own, rows):
    metrics = pytest.importorskip("sklearn.metrics")
    it = own("fruit")
    many = {name: cells * 9 for name, cells in it.columns.items()}
    found = json.loads(cli("test", it.folder, rows(many), "--json").stdout)
    answers = json.loads(cli("predict", it.folder, "more.csv", "--json").stdout)["predictions"]
    assert found["rows"] == len(answers) == 9 * shop.N > 1000
    assert found["confusion"] == metrics.confusion_matrix(many["fruit"], answers).tolist()
    assert found["test_error"] == pytest.approx(100 - 100 * metrics.accuracy_score(many["fruit"], answers))


def test_regressions_are_tested_in_the_units_of_the_file(own, rows):
    metrics = pytest.importorskip("sklearn.metrics")
    it = own("price")
    found = json.loads(cli("test", it.folder, rows(it.columns), "--json").stdout)
    answers = json.loads(cli("predict", it.folder, "more.csv", "--json").stdout)["predictions"]
    truth = [float(cell) for cell in it.columns["price"]]
    assert found["test_rmse"] == pytest.approx(metrics.mean_squared_error(truth, answers) ** 0.5, rel=1e-5)
    assert found["test_r2"] == pytest.approx(metrics.r2_score(truth, answers), rel=1e-4)
    shown = cli("test", it.folder, "more.csv").stdout
    assert shown.startswith(f"{shop.N} rows: rmse {found['test_rmse']:.6g}, mae {found['test_mae']:.6g}, r2 ")


def test_a_person_reads_the_error_beside_guessing_and_every_class(own, rows):
    it = own("fruit")
    first, second, *rest = cli("test", it.folder, rows(it.test)).stdout.splitlines()
    assert first.startswith(f"{len(it.logits)} rows: error {it.summary['test_error']:.2f} %, loss ")
    assert "always giving the most frequent answer" in second
    lines = [line.split() for line in rest if line]
    assert lines[0] == ["class", "rows", "precision", "recall"]
    for line, one in zip(lines[1:4], it.summary["quality"]["per_class"], strict=True):
        assert line[:2] == [one["class"], str(one["rows"])]
    assert lines[4] == ["class", "\\", "answer", "apple", "pear", "plum"]
    assert [[int(n) for n in line[1:]] for line in lines[5:8]] == it.summary["quality"]["confusion"]


def test_what_cannot_be_tested_is_told_on_stderr(own, rows):
    it = own("fruit")
    spoilt = it.test | {"fruit": ["durian", "NA", *it.test["fruit"][2:]]}
    result = cli("test", it.folder, rows(spoilt), "--json")
    assert result.exit_code == 0
    assert strict(result.stdout)["rows"] == len(it.logits) - 2
    assert result.stderr.splitlines()[-2:] == [
        "1 rows of classes that the model does not know ('durian') are left out",
        "1 rows without a fruit are left out",
    ]


def test_a_pipe_can_be_tested(own):
    it = own("fruit")
    given = shop.write(it.folder.parent / "piped.csv", it.test).read_bytes()
    done = python_m("test", it.model, "-", "--json", input=given)
    assert done.returncode == 0
    assert strict(done.stdout)["test_loss"] == it.summary["test_loss"]


def test_rows_without_answers_are_refused(own, rows, refused):
    it = own("fruit")
    rows(shop.without(it.test, "fruit"))
    assert "no column 'fruit', the answers to test by; `minisig predict` needs none" in refused(
        5, "test", it.folder, "more.csv"
    )
    rows(it.test | {"fruit": ["durian"] * len(it.logits)})
    assert "no row has a known fruit" in refused(5, "test", it.folder, "more.csv")
    assert "no such file" in refused(5, "test", it.folder, "nosuch.csv")


def test_words_for_classes_are_words_even_where_they_look_like_numbers(here, tmp_path):
    labels = np.random.default_rng(0).choice(["5%", "10%", "unknown!"], shop.N).tolist()
    it = shop.trained("fruit", tmp_path, shop.cells() | {"fruit": labels})
    row = {name: cells[:1] for name, cells in it.columns.items()} | {"fruit": ["5%"]}
    shop.write(here / "one.csv", row)
    found = json.loads(cli("test", it.folder, "one.csv", "--json").stdout)
    assert found["rows"] == 1
    assert [one["rows"] for one in found["per_class"]] == [int(name == "5%") for name in found["classes"]]
