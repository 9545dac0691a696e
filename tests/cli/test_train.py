"""minisig train: what it writes, what it prints, and how it says no."""

import os
import re
import sys
from functools import partial

import msgspec
import numpy as np
import pytest
from safetensors.numpy import load_file as load_safetensors

from minisig.data import load
from minisig.experiments import configure
from minisig.training.build import build_network
from minisig.training.config import Config
from minisig.training.evaluate import evaluate
from minisig.training.run import run
from tests.cli.command import cli, python_m, strict, tree

QUICK = ("--iterations", "2")
cli = partial(cli, "train")


@pytest.fixture
def refused(refused):
    """All that `minisig train` says."""
    return lambda code, *args: refused(code, "train", *args)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run of fifty iterations on the digits."""
    folder = tmp_path_factory.mktemp("runs") / "deep" / "er"
    result = cli("--iterations", 50, "--seed", 4, "--out", folder)
    assert result.exit_code == 0
    return folder


@pytest.fixture(scope="module")
def summary(folder):
    return strict((folder / "summary.json").read_text())


@pytest.fixture(scope="module")
def metrics(folder):
    return [strict(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


# What is written


def test_a_run_writes_its_five_files_a_lock_and_no_other(folder):
    names = {path.name for path in folder.iterdir()}
    files = {"config.json", "metrics.jsonl", "checkpoint.safetensors", "best.safetensors", "summary.json"}
    assert names == {*files, ".lock"}


def test_the_summary_has_what_the_design_names(summary):
    assert summary.keys() >= {
        *("experiment", "init", "seed", "backend", "iterations", "parameters", "seconds"),
        *("train_loss", "valid_loss", "test_loss", "test_error", "layers"),
    }
    assert (summary["experiment"], summary["init"], summary["seed"]) == ("digits", "random+ep", 4)
    assert (summary["backend"], summary["iterations"]) == ("numpy", 50)
    for layer in summary["layers"]:
        assert layer.keys() == {"name", "gradient_norm_first", "gradient_norm_last"}
    assert 0 < summary["seconds"] < 60


def test_the_summary_counts_the_parameters_that_are_saved(folder, summary):
    params = load_safetensors(folder / "best.safetensors")
    assert summary["parameters"] == sum(w.size for w in params.values())
    assert {name.split(".")[0] for name in params} == {layer["name"] for layer in summary["layers"]}


def scores(folder):
    """Loss of every part, and the test error, with the parameters saved in this folder."""
    config = msgspec.json.decode((folder / "config.json").read_bytes(), type=Config)
    data = load(config.data.source, seed=config.seed)
    net = build_network(config, data)
    net.load(load_safetensors(folder / "best.safetensors"))
    losses = {f"{part}_loss": evaluate(net, getattr(data, part)).loss for part in ("train", "valid", "test")}
    return losses | {"test_error": evaluate(net, data.test).error}


def test_the_saved_parameters_give_the_losses_of_the_summary(folder, summary):
    assert scores(folder).items() <= summary.items()


def test_the_parameters_of_the_least_validation_loss_are_saved_and_not_the_last(tmp_path):
    noisy = {"optimizer.learning_rate": 1.0, "optimizer.schedule": "constant"}
    config = configure("digits", {"iterations": 60, "validate_every": 1, "network.hidden": [20], **noisy})
    summary = run(config, tmp_path / "run")
    records = [strict(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    least = min(records, key=lambda record: record["valid_loss"])
    assert least["iteration"] < 60  # or this test shows nothing
    assert (summary["best_iteration"], summary["valid_loss"]) == (least["iteration"], least["valid_loss"])
    assert scores(tmp_path / "run").items() <= summary.items()


def test_fifty_iterations_learn_something(summary, metrics):
    assert summary["test_loss"] < metrics[0]["train_loss"]  # the rate is still warming up


def test_every_line_of_metrics_has_losses_norms_and_activities(metrics, summary):
    layers = [layer["name"] for layer in summary["layers"]]
    for record in metrics:
        assert record["train_loss"] > 0
        assert list(record["gradient_norm"]) == layers
        assert all(norm > 0 for norm in record["gradient_norm"].values())
        assert len(record["activation_mean"]) == len(layers) - 1
        assert record["activation_mean"].keys() == record["activation_std"].keys()
        assert all(0 < mean < 1 for mean in record["activation_mean"].values())
        assert all(0 < std < 0.5 for std in record["activation_std"].values())


def test_metrics_go_from_the_first_iteration_to_the_last(metrics):
    iterations = [record["iteration"] for record in metrics]
    assert iterations == sorted(set(iterations))
    assert (iterations[0], iterations[-1]) == (1, 50)


def test_the_summary_repeats_the_first_and_last_norms_of_metrics(metrics, summary):
    for layer in summary["layers"]:
        assert layer["gradient_norm_first"] == metrics[0]["gradient_norm"][layer["name"]]
        assert layer["gradient_norm_last"] == metrics[-1]["gradient_norm"][layer["name"]]


def test_the_configuration_is_whole_and_has_what_was_asked_for(here):
    network = ("--init", "ortho", "--hidden", "3x5", "--activation", "scaled-tanh", "--dtype", "float64")
    training = ("--batch-size", 7, "--learning-rate", 0.003, "--seed", 9, "--iterations", 3)
    assert cli("xor", *network, *training, "--out", "run").exit_code == 0
    config = msgspec.json.decode((here / "run" / "config.json").read_bytes(), type=Config)
    assert (config.experiment, config.network.init, config.network.hidden) == ("xor", "ortho", (5, 5, 5))
    assert (config.network.activation, config.batch_size, config.seed) == ("scaled-tanh", 7, 9)
    assert (config.optimizer.learning_rate, config.dtype, config.iterations) == (0.003, "float64", 3)
    assert {w.dtype.name for w in load_safetensors(here / "run" / "best.safetensors").values()} == {"float64"}


def test_the_configuration_is_enough_to_repeat_the_run(folder, summary, tmp_path):
    config = msgspec.json.decode((folder / "config.json").read_bytes(), type=Config)
    assert run(config, tmp_path / "again") | {"seconds": 0} == summary | {"seconds": 0}


# What is printed


def test_json_is_one_object_the_same_as_the_summary_file(here):
    result = cli(*QUICK, "--json", "--out", "run")
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    assert strict(result.stdout) == strict((here / "run" / "summary.json").read_text())


def test_people_are_told_result_gradients_and_folder_on_stdout(here):
    result = cli(*QUICK, "--out", "run")
    written = strict((here / "run" / "summary.json").read_text())
    assert result.stderr == ""
    assert f"{written['test_error']:.2f} %" in result.stdout
    assert all(f"{layer['gradient_norm_first']:.2e}" in result.stdout for layer in written["layers"])
    assert "saved in run" in result.stdout


def test_a_deep_network_does_not_flood_the_terminal(here):
    result = cli(*QUICK, "--hidden", "100x5")
    assert len(result.stdout.splitlines()) < 30
    assert "dense100" in result.stdout


def test_people_are_told_how_the_parameters_were_selected_or_that_nothing_was_held_out(here):
    assert "selected by validation loss at iteration 2," in cli(*QUICK, "--out", "run").stdout
    told = cli(*QUICK, "--set", "data.hold_out=false", "--out", "whole").stdout
    assert "not selected: the validation part was trained on too, to iteration 2\n" in told


def test_as_a_process_in_a_pipe_it_is_quiet_on_stderr_and_clean_on_stdout(here):
    done = python_m("train", "--iterations", "25", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert strict(done.stdout) == strict((here / "runs" / "digits-random+ep-seed0" / "summary.json").read_text())


def test_as_a_process_a_mistake_is_one_line_on_stderr(here):
    done = python_m("train", "--init", "ranom+ep")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"Error: ")
    assert done.stderr.count(b"\n") == 1


# Seeds and diagnostics


def train_quietly(out, *args):
    assert cli("xor", "--iterations", 30, "--hidden", "2x8", "--out", out, *args).exit_code == 0
    summary = strict((out / "summary.json").read_text())
    del summary["seconds"]
    return summary, (out / "best.safetensors").read_bytes(), (out / "metrics.jsonl").read_bytes()


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep", "lsuv", "glorot"])
def test_the_same_seed_gives_the_same_bits(here, init):
    assert train_quietly(here / "a", "--init", init) == train_quietly(here / "b", "--init", init)


def test_the_same_seed_gives_the_same_bits_in_another_process(here):
    summary, best, metrics = train_quietly(here / "a")
    done = python_m("train", "xor", "--iterations", "30", "--hidden", "2x8", "--out", "b", "--json")
    assert {k: v for k, v in strict(done.stdout).items() if k != "seconds"} == summary
    assert (here / "b" / "best.safetensors").read_bytes() == best
    assert (here / "b" / "metrics.jsonl").read_bytes() == metrics


def test_another_seed_gives_another_run(here):
    a, b = train_quietly(here / "a", "--seed", 0), train_quietly(here / "b", "--seed", 1)
    assert a[0]["test_loss"] != b[0]["test_loss"]
    assert a[1] != b[1]


@pytest.mark.parametrize(
    "settings",
    [{}, {"optimizer.clip": 0.3}, {"network.dropout": 0.3}, {"optimizer.name": "adam"}],
    ids=["plain", "clipped", "dropout", "adam"],
)
def test_looking_at_every_iteration_changes_no_weight(tmp_path, settings):
    settings = settings | {"iterations": 60, "validate_every": 60, "network.hidden": [20, 20]}
    for log_every in (1, 1000):
        run(configure("digits", settings | {"log_every": log_every}), tmp_path / str(log_every))
    often, seldom = tmp_path / "1", tmp_path / "1000"
    assert len((often / "metrics.jsonl").read_text().splitlines()) == 60
    assert len((seldom / "metrics.jsonl").read_text().splitlines()) == 2
    assert (often / "best.safetensors").read_bytes() == (seldom / "best.safetensors").read_bytes()


# Folders


def test_runs_get_folders_of_their_own(here):
    for _ in range(3):
        assert cli("xor", *QUICK).exit_code == 0
    cli("xor", *QUICK, "--init", "lecun", "--seed", 5)
    assert {path.name for path in (here / "runs").iterdir()} == {
        "xor-random+ep-seed0",
        "xor-random+ep-seed0-2",
        "xor-random+ep-seed0-3",
        "xor-lecun-seed5",
    }


def test_a_folder_that_holds_a_run_is_left_as_it_is(here, refused):
    cli("xor", *QUICK, "--out", "run")
    assert "run" in refused(2, "xor", *QUICK, "--seed", 1, "--out", "run")


def test_a_folder_that_holds_an_unfinished_run_is_left_as_it_is(here, refused):
    (here / "run").mkdir()
    (here / "run" / "config.json").write_text("{}")
    refused(2, "xor", *QUICK, "--out", "run")


def test_an_empty_folder_may_be_used(here):
    (here / "run").mkdir()
    assert cli("xor", *QUICK, "--out", "run").exit_code == 0


@pytest.mark.parametrize("out", ["file", "file/run"])
def test_a_file_is_no_folder_to_write_to(here, out):
    (here / "file").write_text("mine")
    before = tree(here)
    result = cli("xor", *QUICK, "--out", out)
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    assert out in result.stderr.splitlines()[-1]
    assert tree(here) == before


def test_an_empty_name_is_no_folder_to_write_to(refused):
    refused(2, "xor", *QUICK, "--out", "")


def test_a_read_only_folder_is_reported(here, refused):
    (here / "fixed").mkdir()
    (here / "fixed").chmod(0o500)
    if os.access(here / "fixed", os.W_OK):
        pytest.skip("permissions do not bind this user")
    assert "fixed" in refused(1, "xor", *QUICK, "--out", "fixed/run")


def test_unicode_names_are_names(here):
    (here / "dätä 数.csv").write_text("\n".join(f"{i},{i % 2}" for i in range(30)))
    assert cli(*QUICK, "--data", "dätä 数.csv", "--hidden", 3, "--out", "läufe/α β").exit_code == 0
    assert strict((here / "läufe" / "α β" / "config.json").read_text(encoding="utf-8"))["data"]["path"] == str(
        here / "dätä 数.csv"
    )


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text here")
def test_a_file_name_that_is_not_text_gives_no_traceback(here):
    name = b"\xff.csv"
    with open(name, "w") as file:  # noqa: PTH123
        file.write("\n".join(f"{i},{i % 2}" for i in range(30)))
    done = python_m("train", "--data", os.fsdecode(name), *QUICK)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 2, 5)


# Sizes of hidden layers


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("800", [800]),
        ("30,20,10", [30, 20, 10]),
        ("3x20", [20, 20, 20]),
        ("3×20", [20, 20, 20]),
        ("2x5,7", [5, 5, 7]),
        ("7,2x5,1x3", [7, 5, 5, 3]),
        ("30, 20", [30, 20]),
        ("1", [1]),
    ],
)
def test_hidden_sizes_are_read(here, text, sizes):
    assert cli("xor", *QUICK, "--hidden", text, "--out", "run").exit_code == 0
    assert strict((here / "run" / "config.json").read_text())["network"]["hidden"] == sizes


NO_SIZES = ["", " ", "0", "-1", "1.5", "1e3", "nan", "abc", "10,", ",10", "10,,20", "10;20", "99999999999"]
NO_REPEATS = ["x", "3x", "x3", "3x0", "0x3", "-3x2", "3x-2", "3x4x5", "99999999999x1"]


@pytest.mark.parametrize("text", NO_SIZES + NO_REPEATS)
def test_nonsense_for_hidden_sizes_is_answered_with_an_example(refused, text):
    assert "8x100" in refused(2, "xor", *QUICK, "--hidden", text)


# Wrong usage


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["digit"], "digits"),
        (["Digits"], "digits"),
        (["xro"], "xor"),
        (["--init", "ranom+ep"], "random+ep"),
        (["--init", "RANDOM+EP"], "random+ep"),
        (["--init", "xavier-glorot"], "glorot"),
        (["--backend", "nunpy"], "numpy"),
        (["--activation", "sigmod"], "sigmoid"),
        (["--activation", "scaled_tanh"], "scaled-tanh"),
        (["--dtype", "flaot32"], "float32"),
        (["--dtype", "float46"], "float64"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(refused, args, meant):
    complaint = refused(2, *args, *QUICK)
    assert f"'{args[-1]}'" in complaint
    assert re.search(rf"did you mean '{re.escape(meant)}'", complaint, re.IGNORECASE)


@pytest.mark.parametrize("option", ["", "--init", "--backend", "--activation", "--dtype"])
def test_a_strange_name_is_answered_with_those_that_exist(refused, option):
    existing = {
        "": "digits, xor",
        "--init": "random+ep, ortho+ep",
        "--backend": "numpy",
        "--activation": "sigmoid, scaled-tanh",
        "--dtype": "float32, float64",
    }[option]
    assert existing in refused(2, *filter(None, [option]), "qqqqq", *QUICK)


@pytest.mark.parametrize(
    "args",
    [
        *(["--iterations", value] for value in ("0", "-5", "1.5", "many", "", "nan", "1e3")),
        *(["--batch-size", value] for value in ("0", "-5", "1.5", "all")),
        *(["--learning-rate", value] for value in ("0", "-0.1", "nan", "inf", "-inf", "fast", "", "1e999")),
        *(["--seed", value] for value in ("-1", "1.5", "x", "")),
        ["--seed"],
        ["--unknown"],
        ["digits", "xor"],
    ],
    ids=" ".join,
)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(refused, args):
    word = args[0] if args[0].startswith("--") else args[-1]
    assert word in refused(2, *args).splitlines()[-1]


@pytest.mark.parametrize("option", ["--init", "--backend", "--activation", "--dtype", "--data", "--hidden", "--out"])
def test_an_endless_value_gives_no_traceback(here, option):
    result = cli(*QUICK, option, "a" * 5000)
    assert result.exit_code in (1, 2, 5)
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert tree(here) == {}


@pytest.mark.parametrize("seed", [2**31, 2**32, 2**63, 2**64, 10**30])
def test_a_large_seed_is_a_seed(here, seed):
    result = cli("xor", *QUICK, "--seed", seed, "--out", "run", "--json")
    assert result.exit_code == 0
    assert strict(result.stdout)["seed"] == strict((here / "run" / "config.json").read_text())["seed"] == seed


# Bad data, and training that cannot go well


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "none.csv": None,
        "empty.csv": "",
        "empty.npz": "",
        "text.npz": "1,2,0\n3,4,1\n",
        "words.csv": "1,2,0\n1,two,1\n" * 10,
        "ragged.csv": "1,2,0\n1,2,1\n1,1\n",
        "short.csv": "1,2,0\n1,2,1\n",
        "table.xlsx": "1,2,0\n",
    }.items(),
)
def test_bad_data_are_refused_by_file_name(here, refused, name, content):
    if content is not None:
        (here / name).write_text(content)
    complaint = refused(5, *QUICK, "--data", name, "--out", "run")
    assert complaint.startswith(f"Error: {here / name}")
    assert len(complaint.splitlines()) == 1


def test_own_data_are_trained_on(here):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    np.savez(here / "mine.npz", x_train=rng.normal(y[:, None], 0.05, (300, 4)), y_train=y)
    result = cli("--data", "mine.npz", "--hidden", 10, "--iterations", 300, "--json")
    assert strict(result.stdout)["test_error"] < 5
    assert strict(result.stdout)["parameters"] == 4 * 10 + 10 + 10 * 3 + 3


@pytest.mark.parametrize("experiment", ["digits", "xor"])
@pytest.mark.parametrize(("rate", "iterations"), [("1e30", 100), ("1e300", 100), ("1e38", 1)])
def test_divergence_is_an_exit_code_and_a_remedy(here, experiment, rate, iterations):
    result = cli(experiment, "--learning-rate", rate, "--iterations", iterations, "--json")
    assert (result.exit_code, result.stdout) == (4, "")
    assert len(result.stderr.splitlines()) == 1
    assert re.search(r"lower (the |--)learning.rate", result.stderr)
