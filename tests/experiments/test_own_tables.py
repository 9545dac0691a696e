"""Runs on a table of one's own: what they are called, what suits them, and whose results stand side by side."""

import numpy as np
import pytest

from minisig.data import Dataset, Split
from minisig.errors import UsageError
from minisig.experiments import (
    EXPERIMENTS,
    base,
    compared,
    configure,
    is_own,
    known,
    own_settings,
    suited,
    with_init,
)
from minisig.experiments.compare import plan
from minisig.experiments.configure import label, settings
from minisig.experiments.table import suited_to
from minisig.training.run import run


@pytest.fixture
def table(tmp_path):
    def write(name="own.csv", rows=60, seed=0, folder=""):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        x = np.random.default_rng(seed).normal(size=rows).tolist()
        path.write_text("x,y\n" + "".join(f"{value!r},{'ab'[value > 0]}\n" for value in x))
        return str(path)

    return write


# Names


@pytest.mark.parametrize(
    ("path", "called"),
    [
        ("data/iris.csv", "iris"),
        ("IRIS.CSV.GZ", "IRIS"),
        ("iris.data", "iris"),
        ("table.parquet", "table.parquet"),
        ("xor.tsv", "xor.tsv"),
        ("my table (2).tsv.gz", "my_table_2"),
        ("../up/year 2020.csv", "year_2020"),
        ("año 数.csv", "año_数"),
        (".csv", "csv"),
        ("-rf.csv", "rf"),
        ("a\nb.csv", "a_b"),
        ("$(reboot).csv", "reboot"),
        ("v1.2.csv", "v1.2"),
    ],
)
def test_a_run_is_called_after_its_file(path, called):
    assert label(path) == called
    assert called not in EXPERIMENTS


@pytest.mark.parametrize("letter", ["x", "数"])
def test_a_name_is_short_enough_for_a_folder(letter):
    assert len(f"compare-{label(letter * 83 + '.csv')}-12345678/random+ep-seed1234567".encode()) < 255


@pytest.mark.parametrize(
    ("name", "own"),
    [("a.csv", True), ("a.TSV.GZ", True), ("a.pq", True), ("a.npz", False), ("digits", False), ("a", False)],
)
def test_a_table_is_known_by_its_name(name, own):
    assert is_own(name) is own


def test_a_run_on_a_table_is_one_of_the_experiment_table(table):
    config = configure(table("iris.csv"))
    assert (config.experiment, base(config)) == ("iris", "table")
    assert known(config) is EXPERIMENTS["table"]
    assert compared(config, {"test_loss": 1, "test_rmse": 2}) == "test_rmse"
    assert compared(config, {"test_loss": 1, "test_rmse": 2, "test_error": 3}) == "test_error"
    assert compared(config, {"test_loss": 1}) == ""


# Settings that suit the data


@pytest.mark.parametrize("rows", [20, 100, 499, 500, 4999, 5000, 49_999, 50_000, 400_000])
def test_settings_suit_tables_of_every_size(rows):
    part = Split(np.zeros((rows, 1), np.float32), np.zeros(rows, int))
    found = suited_to(Dataset("own", part, part, part, classes=2))
    assert 20_000 <= found["iterations"] * found["batch_size"] <= 2_000_000
    assert found["log_every"] <= found["validate_every"] < found["patience"] <= found["iterations"]
    configure("table", {"data.path": "own.csv", **found})


def test_what_is_given_wins_over_what_suits(table):
    path = table(rows=60)
    usual, _ = suited(path, {})
    config, data = suited(path, {"iterations": 7, "batch_size": 5, "seed": 3})
    assert (config.iterations, config.batch_size, config.seed, config.patience) == (7, 5, 3, usual.patience)
    assert data.name == "own.csv"
    assert usual.batch_size == suited_to(data)["batch_size"]


def test_the_name_table_stands_for_the_same_without_what_suits(table):
    path = table()
    config, _ = suited("table", {"data.path": path})
    assert config == configure("table", {"data.path": path})
    assert config.iterations == EXPERIMENTS["table"].config.iterations
    assert config.patience is None


def test_another_optimizer_leaves_the_settings_of_the_first(table):
    config, _ = suited(table(), {"optimizer.name": "sgd"})
    assert config.optimizer.name == "sgd"
    assert not hasattr(config.optimizer, "weight_decay")


def test_two_files_are_one_too_many(table):
    with pytest.raises(UsageError, match=r"two files, .*own\.csv and other\.csv: which is to be trained on"):
        suited(table(), {"data.path": "other.csv"})


@pytest.mark.parametrize(("rows", "batch", "epochs"), [(60, 16, 3), (60, 7, 2), (60, 1000, 5)])
def test_passes_show_every_row_so_often(table, rows, batch, epochs):
    config, data = suited(table(rows=rows), {"batch_size": batch}, epochs)
    batches = data.train.batches(config.batch_size, config.seed)
    shown = sum(len(batches.at(i).x) for i in range(1, config.iterations + 1))
    assert epochs * len(data.train.x) - epochs * batch < shown <= epochs * len(data.train.x)


# Another initialization


def test_another_initialization_has_its_own_settings():
    config = configure("ptb", {"network.radius": 4.5, "network.ep_mode": "joint"})
    assert with_init(config, config.network.init) is config
    other = with_init(config, "glorot")
    assert other == configure("ptb", {"network.init": "glorot"})
    assert with_init(other, "random+ep") == configure("ptb")


def test_another_initialization_of_a_table_keeps_what_suits_it(table):
    config, _ = suited(table(), {})
    other = with_init(config, "lecun")
    assert {name: value for name, value in settings(other).items() if settings(config).get(name, ...) != value} == {
        "network.init": "lecun"
    }


# Comparisons


def test_results_on_different_files_are_in_different_folders(table):
    names = {
        own_settings(table(folder="a"), {})[2],
        own_settings(table(folder="b", seed=1), {})[2],
        own_settings(table("other.csv"), {})[2],
        own_settings("digits", {"data.path": table("other.csv", seed=2)})[2],
        own_settings("digits", {"data.path": table("other.csv", seed=3)})[2],
        own_settings("digits", {})[2],
    }
    assert len(names) == 6
    assert own_settings("digits", {})[2] == "digits"
    assert all(name.startswith(("own-", "other-", "digits")) for name in names)


def test_a_file_that_was_edited_is_another_file(table):
    path = table()
    before = own_settings(path, {})[2]
    assert own_settings(path, {"iterations": 3})[2] == before
    table(seed=5)
    assert own_settings(path, {})[2] != before


def test_a_comparison_trains_what_a_single_run_does(table):
    path, given = table(), {"batch_size": 9, "data.target": ["y"]}
    experiment, chosen, _ = own_settings(path, given)
    assert experiment == "table"
    jobs = plan(experiment, ["glorot", "random+ep"], 2, {"threads": 1, **chosen})
    for job in jobs:
        more = {"network.init": job.row, "seed": job.config.seed, "threads": 1}
        assert job.config == suited(path, given | more)[0]


def test_runs_on_a_table_are_named_after_it_in_their_summary(table):
    config, data = suited(table("iris.csv"), {"iterations": 2})
    summary = run(config, data=data)
    assert summary["experiment"] == "iris"
    assert summary["data"] == data.content != ""
