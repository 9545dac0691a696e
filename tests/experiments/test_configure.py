"""An experiment's configuration: every field can be overridden by its name in config.json."""

import numpy as np
import pytest

from minisig.errors import UsageError
from minisig.experiments import EXPERIMENTS, configure, paper_figure, suited


def test_overrides_replace_just_the_fields_they_name():
    usual = configure("digits")
    config = configure("digits", {"network.hidden": [3, 2], "seed": 5})
    assert config.network.hidden == (3, 2)
    assert config.seed == 5
    assert configure("digits", {"network.hidden": usual.network.hidden, "seed": 0}) == usual


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"iterations": 0}, r"^iterations: expected int >= 1, got 0$"),
        ({"iterations": "many"}, r"^iterations: expected int, got 'many'$"),
        ({"optimizer.learning_rate": -1.0}, r"^optimizer\.learning_rate: expected float > 0\.0, got -1\.0$"),
        ({"optimizer.name": "adan"}, r"unknown optimizer\.name 'adan'\. Did you mean 'adam'\? Choose from: momentum,"),
        ({"network.hidden": [10, 0]}, r"^network\.hidden\[1\]: expected int >= 1, got \[10, 0\]$"),
        ({"optimizer.rate": 0.1}, "unknown setting of optimizer 'rate'"),
        ({"optimiser.rate": 0.1}, "unknown setting 'optimiser.rate'"),
        ({"network.ep_mode": "joint"}, r"network\.ep_mode is a setting of rnn; leave it out for mlp"),
        ({"seed.x": 1}, "unknown setting 'seed.x'"),
        ({"threads": 0}, r"^threads: expected int >= 1, got 0$"),
        ({"threads.x": 1}, "'threads' is not a group of settings"),
        ({"iteration": 5}, "Did you mean 'iterations'"),
        ({"data.augment": {"beta": 1}}, "unknown setting of data.augment 'beta'"),
        ({"data.augment.alhpa": 1}, "Did you mean 'alpha'"),
        ({"data.path": ""}, r"^data\.path: expected str .*, got ''$"),
        ({"optimizer": {"learning_rate": float("inf")}}, "optimizer.learning_rate: expected a finite number"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(overrides, message):
    with pytest.raises(UsageError, match=message):
        configure("digits", overrides)


@pytest.mark.parametrize(
    ("name", "row", "settings", "known"),
    [
        ("mnist-deep", "lsuv", {"iterations": 9, "optimizer.learning_rate": 1.0, "dtype": "float64"}, True),
        ("mnist-shallow-fast", "lecun", {"data.hold_out": True}, True),
        ("mnist-deep-augmented", "scaled-tanh", {}, True),
        ("ptb", "lstm", {}, True),
        ("mnist-deep", "lsuv", {"network.hidden": [800]}, False),
        ("mnist-shallow", "lsuv", {"data.path": "mine.npz"}, False),
        ("mnist-shallow", "lsuv", {"data.augment": {}}, False),
        ("ptb", "glorot", {"network.model": "lstm"}, False),
        ("mnist-deep", "random+exact", {}, False),
        ("digits", "lsuv", {}, False),
    ],
)
def test_the_papers_numbers_stand_beside_its_own_networks_and_data(name, row, settings, known):
    own = EXPERIMENTS[name].rows.get(row, {"network.init": row})
    found = paper_figure(row, configure(name, settings | own))
    assert found == (EXPERIMENTS[name].paper[row] if known else None)


def test_some_settings_of_a_group_leave_the_others_as_they_are():
    one_by_one = configure("digits", {"optimizer.learning_rate": 0.5, "optimizer.clip": 3.0})
    assert configure("digits", {"optimizer": {"learning_rate": 0.5, "clip": 3.0}}) == one_by_one


def test_numbers_of_numpy_are_numbers():
    mine = {"network.hidden": np.array([5, 6]), "seed": np.int64(3), "optimizer.learning_rate": np.float32(0.5)}
    assert configure("digits", mine) == configure(
        "digits", {"network.hidden": [5, 6], "seed": 3, "optimizer.learning_rate": 0.5}
    )
    with pytest.raises(UsageError, match="got object"):
        configure("digits", {"seed": object()})


def test_a_configuration_keeps_nothing_of_what_it_was_given():
    mine = {"learning_rate": 0.5}
    configure("digits", {"optimizer": mine, "optimizer.clip": 3.0})
    assert mine == {"learning_rate": 0.5}


def test_data_are_found_from_wherever_a_run_is_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert configure("digits", {"data.path": "mine.csv"}).data.path == str(tmp_path / "mine.csv")


@pytest.mark.parametrize(
    ("overrides", "source"),
    [
        ({"data.path": "mine.csv"}, "table"),
        ({"data.path": "mine.npz"}, "file"),
        ({"data.path": "."}, "images"),
        ({"data.source": "xor"}, "xor"),
    ],
)
def test_a_path_stands_for_the_source_that_reads_it(overrides, source):
    assert configure("digits", overrides).data.source == source


def test_a_path_in_place_of_sequences_is_text():
    assert configure("copy-memory", {"data.path": "mine"}).data.source == "text"


@pytest.mark.parametrize(("experiment", "per_epoch"), [("digits", 23), ("table", 4)])
def test_passes_over_the_training_part_are_counted_in_iterations(experiment, per_epoch, tmp_path):
    if experiment == "table":
        path = tmp_path / "own.csv"
        path.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(100)))
        experiment = str(path)
    config, data = suited(experiment, {"seed": 3}, epochs=2)
    assert config.iterations == 2 * per_epoch
    assert len(data.train.x) // config.batch_size == per_epoch
    assert config.seed == 3
