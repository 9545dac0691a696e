"""Runs of format 1, which held the settings of all parts, are read, restored and gone on with.

Those in old_runs were made by the last minisig that wrote format 1; "ortho" is one of a comparison with a radius, which
only the other initializations had a use for.
"""

import json
import shutil
from pathlib import Path

import pytest

import minisig as ms
from minisig.cli.repeat import commands
from minisig.errors import DataError
from minisig.experiments import configure
from minisig.report.page import can_report, write_report
from minisig.training.files import FORMAT, read_config
from minisig.training.run import run

OLD_RUNS = Path(__file__).parent / "old_runs"
LONGER = {"xor": (60, 0.6852432747781276), "copy-memory": (40, 2.310119809124205)}  # what format 1's minisig made

DATA = {"path": None, "hold_out": True, "augment": None, "delay": 100, "steps": 35, "vocabulary": 10_000}
NETWORK = {"init": "random+ep", "activation": "sigmoid", "dropout": 0.0, "ep_mode": "recurrent", "radius": None}
NETWORK |= {"input_rms": 0.1, "forget_bias": 1.0}
OPTIMIZER = {"momentum": 0.9, "schedule": "constant", "warmup": 0, "clip": None}
REST = {"batch_size": 20, "iterations": 60, "select_by": "loss", "log_every": 20, "validate_every": 100}
REST |= {"checkpoint_every": 1000, "statistics_every": None, "seed": 0, "threads": None, "backend": "numpy"}
REST |= {"memory": None, "dtype": "float32"}

MOMENTUM = {"name": "momentum", "learning_rate": 0.02}
ADAM = {"name": "adam", "learning_rate": 0.001}
MLP = {"model": "mlp", "hidden": [8, 8]}
RNN = {"model": "rnn", "hidden": [6]}
LSTM = {"model": "lstm", "hidden": [6], "init": "glorot"}


def old(experiment, data, network, optimizer):
    """A config.json as format 1 had it, every setting of every part included."""
    groups = {"data": DATA | data, "network": NETWORK | network, "optimizer": OPTIMIZER | optimizer}
    return {"experiment": experiment, **groups, **REST}


def read(folder, fields):
    (folder / "config.json").write_text(json.dumps(fields))
    return read_config(folder)


# A config.json of format 1, and what it is today.
CASES = {
    "digits": (
        old("digits", {"source": "digits"}, MLP, MOMENTUM | {"momentum": 0.8, "warmup": 7, "clip": 2.0}),
        {"network.hidden": [8, 8], "optimizer.momentum": 0.8, "optimizer.warmup": 7, "optimizer.clip": 2.0},
    ),
    "scaled-tanh": (
        old("digits", {"source": "digits"}, MLP | {"activation": "scaled-tanh", "init": "lecun"}, MOMENTUM),
        {"network.hidden": [8, 8], "network.activation": "scaled-tanh", "network.init": "lecun"},
    ),
    "augmented": (
        old("digits", {"source": "digits", "hold_out": False, "augment": {"alpha": 3.0}}, MLP, MOMENTUM),
        {"network.hidden": [8, 8], "data.hold_out": False, "data.augment": {"alpha": 3.0}},
    ),
    "rnn": (
        old("copy-memory", {"source": "copy-memory", "delay": 3}, RNN | {"radius": 4.5}, ADAM),
        {"data.delay": 3, "network.hidden": [6], "network.radius": 4.5},
    ),
    "joint": (
        old("copy-memory", {"source": "copy-memory"}, RNN | {"ep_mode": "joint", "input_rms": 0.3}, ADAM),
        {"network.hidden": [6], "network.ep_mode": "joint", "network.input_rms": 0.3},
    ),
    "lstm": (
        old("copy-memory", {"source": "copy-memory"}, LSTM | {"forget_bias": 2.0}, ADAM),
        {"network.model": "lstm", "network.hidden": [6], "network.init": "glorot", "network.forget_bias": 2.0},
    ),
    "lstm by default": (
        old("copy-memory", {"source": "copy-memory"}, LSTM, ADAM),
        {"network.model": "lstm", "network.hidden": [6], "network.init": "glorot", "network.forget_bias": 1.0},
    ),
    "ptb": (
        old("ptb", {"source": "ptb", "steps": 20, "vocabulary": 500}, RNN, ADAM),
        {"network.hidden": [6], "data.steps": 20, "data.vocabulary": 500},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("said", [{}, {"format": 1, "version": "0.1"}], ids=["unsaid", "said"])
def test_a_configuration_of_format_1_is_the_same_one_today(tmp_path, case, said):
    fields, today = CASES[case]
    defaults = {f"optimizer.{name}": fields["optimizer"][name] for name in ("name", "learning_rate", *OPTIMIZER)}
    if fields["optimizer"]["name"] == "adam":
        del defaults["optimizer.momentum"]
    config = read(tmp_path, fields | said)
    assert config == configure(fields["experiment"], REST | defaults | today)


def test_a_configuration_of_format_1_loses_the_settings_of_other_parts_only(tmp_path):
    config = read(tmp_path, CASES["digits"][0])
    gone = {"delay", "steps", "vocabulary", "ep_mode", "radius", "input_rms", "forget_bias"}
    assert not any(hasattr(group, name) for group in (config.data, config.network) for name in gone)
    assert (config.network.activation, config.optimizer.momentum) == ("sigmoid", 0.8)
    rnn = read(tmp_path, CASES["rnn"][0])
    assert (rnn.network.radius, rnn.network.input_rms, rnn.data.delay) == (4.5, 0.1, 3)
    assert not any(hasattr(rnn.network, name) for name in ("activation", "forget_bias"))
    assert not hasattr(rnn.optimizer, "momentum")


@pytest.mark.parametrize(
    ("source", "network", "name", "today"),
    [
        ("digits", MLP, "mine.csv", "file"),
        ("xor", MLP, "mine.npz", "file"),
        ("mnist", MLP, "images", "images"),
        ("digits", MLP, "images", "images"),
        ("ptb", RNN, "words", "text"),
        ("copy-memory", RNN, "words", "text"),
    ],
)
def test_a_path_of_format_1_names_its_source_today(tmp_path, source, network, name, today):
    path = tmp_path / name
    path.touch() if path.suffix else path.mkdir()
    config = read(tmp_path, old("mine", {"source": source, "path": str(path)}, network, MOMENTUM))
    assert (config.data.source, config.data.path) == (today, str(path))
    text = {"steps": 35, "vocabulary": 10_000} if today == "text" else {}
    assert {
        key: getattr(config.data, key) for key in ("steps", "vocabulary", "delay") if hasattr(config.data, key)
    } == (text)


@pytest.mark.parametrize("name", ["ep_mode", "radius", "input_rms"])
@pytest.mark.parametrize("init", ["ortho", "glorot", "lsuv"])
def test_what_an_rnn_of_format_1_was_told_about_ep_is_dropped_where_nothing_was_ep(tmp_path, init, name):
    """So are the rows of a comparison that was made with --set network.radius=4.5."""
    told = {"ep_mode": "joint", "radius": 4.5, "input_rms": 0.3}[name]
    fields = old("copy-memory", {"source": "copy-memory"}, RNN | {"init": init, name: told}, ADAM)
    config = read(tmp_path, fields)
    assert config.network.init == init
    assert not hasattr(config.network, name)


REFUSED = {
    "network.radius": old("digits", {"source": "digits"}, MLP | {"radius": 4.5}, MOMENTUM),
    "network.forget_bias": old("copy-memory", {"source": "copy-memory"}, RNN | {"forget_bias": 2.0}, ADAM),
    "network.activation": old("copy-memory", {"source": "copy-memory"}, RNN | {"activation": "scaled-tanh"}, ADAM),
    "network.input_rms": old("copy-memory", {"source": "copy-memory"}, LSTM | {"input_rms": 0.3}, ADAM),
    "optimizer.momentum": old("digits", {"source": "digits"}, MLP, ADAM | {"momentum": 0.5}),
    "data.delay": old("digits", {"source": "digits", "delay": 3}, MLP, MOMENTUM),
    "data.steps": old("copy-memory", {"source": "copy-memory", "steps": 20}, RNN, ADAM),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_setting_of_another_part_is_refused_as_format_1_refused_it(tmp_path, name):
    with pytest.raises(DataError, match=rf"config\.json: {name} is a setting of .*; leave it out for ") as caught:
        read(tmp_path, REFUSED[name])
    assert "\n" not in str(caught.value)


def test_an_unknown_setting_of_format_1_is_refused_by_its_name(tmp_path):
    with pytest.raises(DataError, match="unknown setting of network 'colour'"):
        read(tmp_path, old("digits", {"source": "digits"}, MLP | {"colour": "red"}, MOMENTUM))


def test_todays_format_has_no_room_for_the_settings_of_all_parts(tmp_path):
    with pytest.raises(DataError, match=r"is a setting of"):
        read(tmp_path, CASES["digits"][0] | {"format": 2, "version": ms.__version__})


def test_a_format_of_the_future_is_refused_in_words(tmp_path):
    for path in OLD_RUNS.glob("xor/*"):
        shutil.copy(path, tmp_path)
    fields = json.loads((tmp_path / "config.json").read_text())
    with pytest.raises(DataError, match=r"made by minisig 9\.0, format 4, .*: update minisig$"):
        read(tmp_path, {"format": FORMAT + 1, "version": "9.0"} | fields)
    for attempt in (ms.restore, ms.resume):
        with pytest.raises(DataError, match="update minisig"):
            attempt(tmp_path)


def test_a_run_of_today_says_its_format_and_version(tmp_path):
    run(configure("xor", {"iterations": 2}), tmp_path)
    for name in ("config.json", "summary.json"):
        found = json.loads((tmp_path / name).read_text())
        assert (found["format"], found["version"]) == (FORMAT, ms.__version__)


# Real runs of format 1


@pytest.fixture(params=LONGER)
def copied(tmp_path, request):
    return request.param, Path(shutil.copytree(OLD_RUNS / request.param, tmp_path / request.param))


@pytest.mark.parametrize("path", sorted(OLD_RUNS.iterdir()), ids=lambda path: path.name)
def test_the_old_runs_are_of_format_1(path):
    for name in ("config.json", "summary.json"):
        assert "format" not in json.loads((path / name).read_text())
    assert read_config(path).iterations == 20 + 20 * (path.name == "xor")


def test_an_old_run_is_restored_to_the_network_it_was(copied):
    _, folder = copied
    summary = json.loads((folder / "summary.json").read_text())
    _, data, net = ms.restore(folder)
    assert ms.evaluate(net, data.test).loss == pytest.approx(summary["test_loss"], rel=1e-5)


def test_an_old_run_that_is_finished_is_left_as_it_is(copied):
    _, folder = copied
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert ms.resume(folder) == json.loads(before["summary.json"])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_old_run_goes_on_to_where_its_own_minisig_would_have_come(copied):
    name, folder = copied
    iterations, test_loss = LONGER[name]
    summary = ms.resume(folder, iterations=iterations)
    assert summary["iterations"] == summary["best_iteration"] == iterations
    assert summary["test_loss"] == pytest.approx(test_loss, rel=1e-4)
    old_lines = (OLD_RUNS / name / "metrics.jsonl").read_text()
    assert (folder / "metrics.jsonl").read_text().startswith(old_lines)
    written = json.loads((folder / "config.json").read_text())
    assert (written["format"], written["version"]) == (FORMAT, ms.__version__)
    assert read_config(folder).iterations == iterations
    assert ms.resume(folder) == summary


@pytest.mark.skipif(not can_report(), reason="a report needs minisig[viz]")
def test_old_runs_are_reported_on(tmp_path):
    assert write_report([OLD_RUNS], tmp_path / "report.html", commands) == 3
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "copy-memory" in page
