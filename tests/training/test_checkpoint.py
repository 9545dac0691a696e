"""A run that stops and goes on is the run that never stopped; what cannot be gone on with is refused."""

import json
import re
from operator import itemgetter

import numpy as np
import pytest
from safetensors.numpy import save_file

from minisig.data import load
from minisig.errors import DataError, Interrupted, UsageError
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.files import read_tensors
from minisig.training.folder import RunFolder
from minisig.training.loop import Training
from minisig.training.run import resume, run
from tests.cli.command import tree
from tests.faults.runs import KINDS, STEADY, TINY, begun, contents, difference, standing, stop_at


def edit(folder, change):
    """Rewrite the checkpoint with arrays or metadata changed."""
    tensors, metadata = read_tensors(folder / CHECKPOINT)
    position = json.loads(metadata["position"])
    change(tensors, position)
    save_file(tensors, folder / CHECKPOINT, {"position": json.dumps(position)})


# The same bits


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("stops", [(1,), (6, 1, 5)], ids=["at once", "three times"])
def test_a_run_that_was_stopped_ends_with_the_bits_of_one_that_was_not(tmp_path, straight, name, stops):
    config, reference = straight(name)
    begun(config, tmp_path / "run", stops[0])
    for iterations in stops[1:]:
        with pytest.raises(Interrupted):
            resume(tmp_path / "run", stop=stop_at(iterations))
    assert standing(config, tmp_path / "run") == sum(stops)
    summary = resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""
    assert {key: value for key, value in summary.items() if key != "seconds"} == reference["summary"]


@pytest.mark.parametrize("name", ["dropout", "text"])
def test_a_run_that_died_before_its_first_checkpoint_is_begun_again(tmp_path, straight, name):
    config, reference = straight(name)
    with RunFolder(tmp_path / "run").claim(config):
        pass
    (tmp_path / "run" / "metrics.jsonl").write_text('{"iteration": 1, "train_lo')
    resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""


def test_records_after_the_checkpoint_and_a_torn_one_are_made_again(tmp_path, straight):
    config, reference = straight("digits")
    begun(config, tmp_path / "run", 10)
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 12, "train_loss": 0.0}\n{"iteration": 14, "train')
    resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""


@pytest.mark.parametrize("less", [1, 100, None])
def test_metrics_that_lack_what_the_checkpoint_saw_are_refused(tmp_path, straight, less):
    config, _ = straight("digits")
    path = begun(config, tmp_path / "run", 10) / "metrics.jsonl"
    if less is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-less])
    with pytest.raises(DataError, match=r"metrics\.jsonl: has [\d,]+ bytes, [\d,]+ when the checkpoint was written"):
        resume(tmp_path / "run")


def test_the_time_of_a_stopped_run_is_that_of_all_its_parts(tmp_path, xor, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("minisig.training.run.perf_counter", lambda: clock[0])

    def work(record):
        clock[0] += 1.5

    with pytest.raises(Interrupted):
        run(xor, tmp_path, observers=[work], stop=stop_at(10))
    clock[0] += 1000  # until it goes on
    seconds = resume(tmp_path, observers=[work])["seconds"]
    assert seconds == 1.5 * len((tmp_path / "metrics.jsonl").read_text().splitlines())


def test_the_summary_of_a_stopped_run_has_the_gradient_norms_of_its_first_and_last_iterations(tmp_path, xor):
    begun(xor, tmp_path / "run", 10)
    layers = resume(tmp_path / "run")["layers"]
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    first, last = (json.loads(line)["gradient_norm"] for line in (lines[0], lines[-1]))
    assert first != last
    assert {layer["name"]: layer["gradient_norm_first"] for layer in layers} == first
    assert {layer["name"]: layer["gradient_norm_last"] for layer in layers} == last


@pytest.mark.parametrize("name", KINDS)
def test_a_training_goes_on_from_the_state_of_another_without_any_file(straight, name):
    config, _ = straight(name)

    def training():
        data = load(config.data, seed=config.seed)
        return Training(build_network(config, data), data, config)

    first, second = training(), training()
    for _ in range(13):
        first.advance()
    arrays, numbers = first.state()
    second.load_state({name: values.copy() for name, values in arrays.items()}, numbers)
    assert list(first) == list(second)
    (arrays, numbers), (others, same) = first.state(), second.state()
    assert numbers == same
    assert {name: w.tobytes() for name, w in arrays.items()} == {name: w.tobytes() for name, w in others.items()}


def test_a_checkpoint_from_when_a_score_had_a_recall_of_null_is_gone_on_from(tmp_path, straight):
    config, reference = straight("digits")
    begun(config, tmp_path / "run", 10)
    edit(tmp_path / "run", lambda tensors, position: position["best_score"].update(recall=None))
    resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""


# Runs that are finished


def test_a_finished_run_is_left_as_it_is(tmp_path, xor):
    summary = run(xor, tmp_path)
    before = tree(tmp_path)
    assert resume(tmp_path) == resume(tmp_path, xor.iterations) == summary
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["digits", "dropout", "rnn", "text-lstm"])
@pytest.mark.parametrize("finished", [True, False])
def test_more_iterations_make_the_longer_run(tmp_path, straight, name, finished):
    config, reference = straight(name)
    experiment, own = KINDS[name]
    path = {"data.path": config.data.path} if config.data.path else {}
    shorter = configure(experiment, TINY | own | path | {"iterations": 12})
    if finished:
        run(shorter, tmp_path / "run")
    else:
        begun(shorter, tmp_path / "run", 7)
    with pytest.raises(Interrupted):  # the longer run is asked for once
        resume(tmp_path / "run", 20, stop=stop_at(2))
    resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""


@pytest.mark.parametrize(
    ("schedule", "iterations", "words"),
    [("linear", 21, "learning rate"), ("linear", 19, "not shortened"), ("constant", 19, "not shortened")],
)
@pytest.mark.parametrize("finished", [True, False])
def test_a_run_cannot_be_shortened_nor_extended_beyond_a_rate_of_0(tmp_path, schedule, iterations, words, finished):
    config = configure("xor", TINY | {"optimizer.schedule": schedule})
    if finished:
        run(config, tmp_path)
    else:
        begun(config, tmp_path, 7)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match=words):
        resume(tmp_path, iterations)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("lost", ["summary.json", "best.safetensors summary.json"])
def test_a_run_that_died_on_its_last_files_writes_them_from_the_checkpoint(tmp_path, straight, lost):
    config, reference = straight("lstm")
    run(config, tmp_path / "run")
    for name in lost.split():
        (tmp_path / "run" / name).unlink()
    resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""


# Which parameters are selected


@pytest.mark.parametrize("by", ["loss", "error"])
@pytest.mark.parametrize("stopped", [False, True])
def test_the_least_validation_figure_asked_for_selects(tmp_path, by, stopped):
    settings = {"network.hidden": [8], "batch_size": 20, "iterations": 60, "validate_every": 5, "seed": 1}
    wild = {"optimizer.learning_rate": 1.0, "optimizer.warmup": 0, "optimizer.clip": None, **STEADY}
    config = configure("digits", settings | wild | {"select_by": by})
    if stopped:
        begun(config, tmp_path, 30)
        summary = resume(tmp_path)
    else:
        summary = run(config, tmp_path)
    records = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    best = {
        name: min((record for record in records if f"valid_{name}" in record), key=itemgetter(f"valid_{name}"))
        for name in ("loss", "error")
    }
    assert best["loss"] != best["error"]
    assert summary["best_iteration"] == best[by]["iteration"]
    assert (summary["valid_loss"], summary["valid_error"]) == (best[by]["valid_loss"], best[by]["valid_error"])


# Checkpoints that make no sense


@pytest.mark.parametrize(
    "part", ["param.embedding.E", "best.dense.W", "slot.rnn0.Wh.m", "slot.rnn0.Wh.v", "state.rnn0.0"]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_arrays_that_are_not_finite_are_refused_by_name(tmp_path, straight, part, bad):
    config, _ = straight("text")
    begun(config, tmp_path / "run", 7)
    edit(tmp_path / "run", lambda tensors, position: tensors[part].flat.__setitem__(2, bad))
    before = contents(tmp_path / "run")
    with pytest.raises(DataError, match=rf"checkpoint\.safetensors: {re.escape(part)} has entries that are not finite"):
        resume(tmp_path / "run")
    assert contents(tmp_path / "run") == before


DAMAGE = {
    "an array is missing": lambda tensors, position: tensors.pop("slot.dense0.W.u"),
    "an array too many": lambda tensors, position: tensors.update(extra=np.zeros(2)),
    "another shape": lambda tensors, position: tensors.update({"best.dense0.b": np.zeros(3, "f4")}),
    "another type": lambda tensors, position: tensors.update({"best.dense0.b": np.zeros(2, "f8")}),
    "transposed": lambda tensors, position: tensors.update({"param.dense0.W": np.zeros((1, 4), "f4")}),
    "beyond the end": lambda tensors, position: position.update(iteration=21),
    "before the beginning": lambda tensors, position: position.update(iteration=-1, best_iteration=-1),
    "the best is yet to come": lambda tensors, position: position.update(best_iteration=21),
    "no position": lambda tensors, position: position.clear(),
    "a position in words": lambda tensors, position: position.update(iteration="seven"),
    "an unknown field": lambda tensors, position: position.update(extra=1),
    "no score": lambda tensors, position: position.update(best_score=None),
    "a score of nothing": lambda tensors, position: position.update(best_score={}),
    "a score without the loss": lambda tensors, position: position.update(best_score={"error": 3.0}),
    "a score in words": lambda tensors, position: position.update(best_score={"loss": "low", "error": 3.0}),
    "metrics of less than nothing": lambda tensors, position: position.update(metrics_bytes=-1),
    "metrics that end within a line": lambda tensors, position: position.update(metrics_bytes=20),
    "no first record": lambda tensors, position: position.update(first={"iteration": 1}),
    "no last record": lambda tensors, position: position.update(last={}),
    "records of no known layer": lambda tensors, position: position.update(last={"gradient_norm": {"x": 1.0}}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("iteration", [7, 20])
def test_a_checkpoint_that_makes_no_sense_is_refused_and_nothing_is_changed(tmp_path, xor, damage, iteration):
    if iteration < xor.iterations:
        begun(xor, tmp_path, iteration)
    else:
        run(xor, tmp_path)
        (tmp_path / "summary.json").unlink()
    edit(tmp_path, damage)
    before = contents(tmp_path)
    with pytest.raises(DataError, match=r"checkpoint\.safetensors|metrics\.jsonl"):
        resume(tmp_path)
    assert contents(tmp_path) == before


def test_a_checkpoint_of_another_network_is_refused(tmp_path, xor):
    begun(xor, tmp_path, 7)
    path = tmp_path / "config.json"
    path.write_text(path.read_text().replace('"hidden": [\n      2\n    ]', '"hidden": [3]'))
    assert json.loads(path.read_text())["network"]["hidden"] == [3]
    with pytest.raises(DataError, match=r"best\.dense0\.W does not fit the configured network"):
        resume(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"{}", bytes(8), b"\xff" * 100, None], ids=["empty", "text", "0", "ff", "folder"]
)
def test_what_is_no_checkpoint_is_refused(tmp_path, xor, content):
    begun(xor, tmp_path, 7)
    (tmp_path / CHECKPOINT).unlink()
    if content is None:
        (tmp_path / CHECKPOINT).mkdir()
    else:
        (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(DataError, match=r"checkpoint\.safetensors"):
        resume(tmp_path)
