"""minisig train: what it writes, what it prints, and that its seed is all it depends on."""

from functools import partial

import pytest
from safetensors.numpy import load_file as load_safetensors

from minisig.data import load
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.evaluate import evaluate
from minisig.training.files import read_config, read_tensors
from minisig.training.run import run
from tests.cli.command import cli, python_m, strict

QUICK = ("--iterations", "2")
cli = partial(cli, "train")


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
    assert summary["seconds"] > 0


def test_the_summary_counts_the_parameters_that_are_saved(folder, summary):
    params = load_safetensors(folder / "best.safetensors")
    assert summary["parameters"] == sum(w.size for w in params.values())
    assert {name.split(".")[0] for name in params} == {layer["name"] for layer in summary["layers"]}


def scores(folder):
    """Loss of every part, and the test error, with the parameters saved in this folder."""
    config = read_config(folder)
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


def test_every_line_of_metrics_has_losses_norms_and_activations(metrics, summary):
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
    config = read_config(here / "run")
    assert (config.experiment, config.network.init, config.network.hidden) == ("xor", "ortho", (5, 5, 5))
    assert (config.network.activation, config.batch_size, config.seed) == ("scaled-tanh", 7, 9)
    assert (config.optimizer.learning_rate, config.dtype, config.iterations) == (0.003, "float64", 3)
    assert {w.dtype.name for w in load_safetensors(here / "run" / "best.safetensors").values()} == {"float64"}


def test_the_configuration_is_enough_to_repeat_the_run(folder, summary, tmp_path):
    config = read_config(folder)
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
    (weights, _), (others, _) = (read_tensors(path / "best.safetensors") for path in (often, seldom))
    assert {name: w.tobytes() for name, w in weights.items()} == {name: w.tobytes() for name, w in others.items()}
