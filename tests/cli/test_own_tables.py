"""A table of one's own on the command line: trained, shown, inspected and compared."""

import json

import numpy as np
import pytest

from tests.cli.command import cli, finished_runs, strict, tree
from tests.support import shop

QUICK = ("--iterations", 4, "--hidden", 5)


@pytest.fixture
def table(here):
    shop.write(here / "shop.csv", shop.cells())
    return here / "shop.csv"


def configured(folder):
    return json.loads((folder / "config.json").read_text())


# train


@pytest.mark.parametrize("args", [["shop.csv"], ["--data", "shop.csv"]], ids=["file", "data"])
def test_a_run_is_named_after_its_table(table, here, args):
    result = cli("train", *args, "--target", "fruit", *QUICK, "--json")
    assert result.exit_code == 0, result.stderr
    assert [path.name for path in (here / "runs").iterdir()] == ["shop-random+ep-seed0"]
    assert strict(result.stdout)["experiment"] == "shop"


def test_what_was_read_is_told_on_stderr_and_not_beside_json(table):
    args = ("train", "shop.csv", "--target", "fruit", "--ignore", "price,tax", *QUICK)
    said = cli(*args).stderr
    assert "shop.csv: 150 rows (" in said
    assert "target fruit: classification, 3 classes" in said
    assert "left out: price, tax: as asked" in said
    assert cli(*args, "--json").stderr == ""


def test_passes_optimizer_and_rate_are_said_in_a_word(table, here):
    result = cli(
        "train", "shop.csv", "--target", "fruit", "--epochs", 3, "--lr", 0.02, "--optimizer", "adam", "--out", "run"
    )
    assert result.exit_code == 0, result.stderr
    config = configured(here / "run")
    assert config["optimizer"]["name"] == "adam"
    assert config["optimizer"]["learning_rate"] == 0.02
    assert config["iterations"] == 3 * (98 // config["batch_size"])
    assert json.loads((here / "run" / "summary.json").read_text())["iterations"] == config["iterations"]


def test_passes_and_iterations_exclude_each_other(table, refused):
    said = refused(2, "train", "shop.csv", "--epochs", 3, "--iterations", 9)
    assert "--epochs and --iterations say the same in two ways" in said


@pytest.mark.parametrize("epochs", ["0", "-1", "x", "1.5"])
def test_passes_are_a_whole_number(table, refused, epochs):
    assert "--epochs" in refused(2, "train", "shop.csv", "--epochs", epochs)


def test_passes_are_not_for_a_run_that_is_resumed(table, refused):
    assert cli("train", "shop.csv", "--target", "fruit", *QUICK, "--out", "run").exit_code == 0
    assert "leave out --epochs" in refused(2, "train", "--resume", "run", "--epochs", 3)
    assert "leave out --optimizer" in refused(2, "train", "--resume", "run", "--optimizer", "sgd")


def test_passes_of_a_public_experiment_are_counted_too(here):
    assert cli("train", "digits", "--hidden", 5, "--epochs", 1, "--out", "run").exit_code == 0
    assert configured(here / "run")["iterations"] == 1197 // 50


def test_two_tables_are_one_too_many(table, here, refused):
    shop.write(here / "other.csv", shop.cells(seed=1))
    for command in ("train", "compare", "inspect"):
        assert "two files, shop.csv and other.csv" in refused(2, command, "shop.csv", "--data", "other.csv")
    assert "two files" in refused(2, "data", "show", "shop.csv", "--data", "other.csv")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["nosuch.csv"], 5, "nosuch.csv: no such file"),
        (["shop.csv", "--target", "friut"], 2, "Did you mean 'fruit'?"),
        (["shop.csv", "--target", "fruit", "--task", "regression"], 2, "holds text such as"),
        (["shop.csv", "--target", "fruit", "--task", "sorting"], 2, "sorting"),
        (["shop.csv", "--ignore", "wieght"], 2, "Did you mean 'weight'?"),
        (["digits", "--target", "fruit"], 2, "target"),
        (["shop.csv", "--model", "rnn"], 2, "rnn"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_fit_a_table_is_refused(table, refused, args, code, said):
    assert said in refused(code, "train", *args)


# data show, inspect


def test_show_tells_column_by_column_how_a_table_is_read(table, here):
    before = tree(here)
    result = cli("data", "show", "shop.csv", "--target", "fruit", "--ignore", "tax,price")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["colour", "categories", "4"] in [line[:3] for line in lines]
    assert ["weight", "numbers", "1", "(v"] in [line[:4] for line in lines]
    assert tree(here) == before


def test_show_as_json_says_what_a_model_would_be_told(table, own):
    others = ("grade", "price", "tax", "ripe", "sold")
    result = cli("data", "show", "shop.csv", "--target", "fruit", "--ignore", ",".join(others), "--json")
    found, data = strict(result.stdout), own("fruit").data
    assert found["rows"] == {part: len(rows) for part, rows in data.rows.items()}
    assert [column["name"] for column in found["columns"]] == data.prepared.names
    assert found["columns"][0]["values"] == data.prepared.columns[0].values
    assert found["columns"][1]["centre"] == data.prepared.columns[1].centre
    assert found["left_out"] == dict.fromkeys(others, "as asked")
    assert found["target"]["classes"] == ["apple", "pear", "plum"]
    assert found["baselines"] == data.baselines


def test_an_untrained_network_on_a_table_is_inspected(table):
    found = json.loads(cli("inspect", "shop.csv", "--target", "fruit", "--hidden", "7x6", "--json").stdout)
    assert found["experiment"] == "shop"
    assert [layer["shape"][1] for layer in found["layers"]] == [6] * 7 + [3]
    every = json.loads(cli("inspect", "shop.csv", "--target", "price", "--init", "all", "--json").stdout)
    assert {"random+ep", "lecun", "glorot"} <= every["inits"].keys()


def test_a_run_on_a_table_is_inspected(own):
    result = cli("inspect", own("fruit").folder, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["experiment"] == "shop"


# compare


@pytest.fixture
def compared(here):
    """The folder that a comparison of this table comes to, which must have worked."""

    def compare(path, *args):
        before = {*(here / "runs").glob("*")}
        result = cli("compare", path, "--init", "lecun,glorot", "--seeds", 2, *QUICK, "--format", "json", *args)
        assert result.exit_code == 0, result.stderr
        return strict(result.stdout), {*(here / "runs").glob("*")} - before

    return compare


@pytest.mark.usefixtures("without_figures")
def test_tables_of_the_same_name_never_share_a_folder(here, compared):
    made = []
    for place in "ab":
        (here / place).mkdir()
        shop.write(here / place / "shop.csv", shop.cells(seed=ord(place)))
        found, new = compared(f"{place}/shop.csv", "--target", "fruit")
        assert found["experiment"] == "shop"
        assert len(new) == 1
        made += new
    assert all(path.name.startswith("compare-shop-") for path in made)
    assert [len(finished_runs(path)) for path in made] == [4, 4]


@pytest.mark.usefixtures("without_figures")
def test_the_same_table_goes_on_where_it_was(here, table, compared):
    first, (folder,) = compared("shop.csv", "--target", "fruit")
    before = {path: path.stat().st_mtime_ns for run in finished_runs(folder) for path in run.iterdir()}
    again, new = compared("shop.csv", "--target", "fruit")
    assert (again["rows"], new) == (first["rows"], set())
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.usefixtures("without_figures")
def test_an_edited_table_is_compared_anew(here, table, compared):
    compared("shop.csv", "--target", "fruit")
    shop.write(table, shop.cells(seed=9))
    _, new = compared("shop.csv", "--target", "fruit")
    assert len(new) == 1


@pytest.mark.usefixtures("without_figures")
def test_a_regression_is_compared_by_its_error_in_units(table, compared):
    found, _ = compared("shop.csv", "--target", "price")
    assert found["metric"] == "test_rmse"
    assert all(np.isfinite(row["mean"]) and row["mean"] > 100 for row in found["rows"])
