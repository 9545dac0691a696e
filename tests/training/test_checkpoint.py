"""A run that stops and goes on is the run that never stopped; what cannot be gone on with is refused."""

import ast
import json
import os
import pickle
import re
from contextlib import suppress
from dataclasses import replace as with_
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import minisig
from minisig.diagnostics.finite import first_not_finite
from minisig.errors import DataError, Diverged, Interrupted, UsageError
from minisig.experiments import configure
from minisig.network import mlp
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.files import read_tensors, write_tensors
from minisig.training.folder import FILES, RunFolder
from minisig.training.loop import Training
from minisig.training.run import resume, run
from tests.cli.command import tree
from tests.faults.runs import KINDS, STEADY, TINY, begun, contents, difference, kind, outcome, standing, stop_at

PACKAGE = Path(minisig.__file__).parent


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """By kind, a configuration and the outcome of a run that nothing stops."""
    known = {}

    def of(name):
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            config = kind(name, folder / "words")
            run(config, folder / "run")
            known[name] = config, outcome(folder / "run")
        return known[name]

    return of


@pytest.fixture
def xor():
    return configure("xor", TINY)


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
    RunFolder(tmp_path / "run").claim(config)
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


def test_the_time_of_a_stopped_run_is_that_of_all_its_parts(tmp_path, xor):
    begun(xor, tmp_path / "run", 10)
    edit(tmp_path / "run", lambda tensors, position: position.update(seconds=1000.0))
    assert 1000 < resume(tmp_path / "run")["seconds"] < 1900


def test_the_summary_of_a_stopped_run_has_the_gradient_norms_of_its_first_and_last_iterations(tmp_path, xor):
    begun(xor, tmp_path / "run", 10)
    layers = resume(tmp_path / "run")["layers"]
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    first, last = (json.loads(line)["gradient_norm"] for line in (lines[0], lines[-1]))
    assert first != last
    assert {layer["name"]: layer["gradient_norm_first"] for layer in layers} == first
    assert {layer["name"]: layer["gradient_norm_last"] for layer in layers} == last


# Runs that are finished


def test_others_may_read_all_files_of_a_run(tmp_path, xor):
    run(xor, tmp_path)
    assert {path.stat().st_mode & 0o444 for path in tmp_path.iterdir() if path.name in FILES} == {0o444}


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


# One process at a time


def test_a_folder_in_use_is_in_use(tmp_path, xor):
    seen = []

    def intrude(record):
        before = tree(tmp_path)
        with pytest.raises(UsageError, match="in use by another process"):
            resume(tmp_path)
        with pytest.raises(UsageError, match="already holds a run"):
            run(xor, tmp_path)
        seen.append(tree(tmp_path) == before)

    run(xor, tmp_path, watch=intrude)
    assert seen
    assert all(seen)
    resume(tmp_path, watch=intrude)  # and free again


def test_a_folder_in_use_cannot_be_claimed_before_it_holds_a_run(tmp_path, xor):
    first = RunFolder(tmp_path)
    first._lock()
    with pytest.raises(UsageError, match="in use by another process"):
        RunFolder(tmp_path).claim(xor)
    assert contents(tmp_path) == {}
    first.release()
    RunFolder(tmp_path).claim(xor)


@pytest.mark.parametrize("ends", ["stopped", "refused", "diverged"])
def test_however_a_run_ends_its_folder_is_free(tmp_path, xor, ends, monkeypatch):
    begun(xor, tmp_path, 7)
    if ends == "refused":
        edit(tmp_path, lambda tensors, position: tensors.pop("param.dense0.W"))
    if ends == "diverged":
        poison(monkeypatch, 12, lambda training: training.net.params["dense0.W"].fill(np.nan))
    with pytest.raises((Interrupted, DataError, Diverged)) as caught:
        resume(tmp_path, stop=stop_at(8))
    assert caught.value.exit_code == {"stopped": 130, "refused": 5, "diverged": 4}[ends]
    other = RunFolder(tmp_path)
    other.reopen()
    other.release()


# Divergence


def poison(monkeypatch, iteration, spoil):
    """Do this to the training after the update of that iteration."""
    real = Training.step

    def step(self, now):
        made = real(self, now)
        if now == iteration:
            spoil(self)
        return made

    monkeypatch.setattr(Training, "step", step)


BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("log_every", [1, 1000])
@pytest.mark.parametrize("name", ["dense0.W", "dense1.b"])
def test_a_weight_that_is_not_finite_ends_the_run_and_the_last_good_checkpoint_stays(
    tmp_path, monkeypatch, log_every, name, bad
):
    settings = {"iterations": 20, "checkpoint_every": 1, "log_every": log_every, "validate_every": 1000}
    config = configure("xor", settings)
    good = {}

    def spoil(training):
        good.update(contents(tmp_path))
        training.net.params[name].flat[0] = bad

    poison(monkeypatch, 8, spoil)
    with pytest.raises(Diverged) as caught:
        run(config, tmp_path)
    assert caught.value.exit_code == 4
    assert "diverged at iteration 8" in str(caught.value)
    assert f"first seen in {name}" in str(caught.value)
    assert "lower the learning rate, now 0.05" in str(caught.value)
    assert contents(tmp_path)[CHECKPOINT] == good[CHECKPOINT]
    assert standing(config, tmp_path) == 7
    assert not (tmp_path / "summary.json").exists()


@pytest.mark.parametrize("iteration", [9, 20])
@pytest.mark.parametrize(("name", "slot"), [("digits", "u"), ("dropout", "m"), ("dropout", "v")])
def test_a_checkpoint_that_could_not_be_resumed_is_never_written(
    tmp_path, straight, monkeypatch, name, slot, iteration
):
    config, _ = straight(name)
    poison(monkeypatch, iteration, lambda training: training.optimizer.slots["dense1.W"][slot].fill(np.inf))
    with pytest.raises(Diverged):
        run(config, tmp_path / "run")
    assert standing(config, tmp_path / "run") == {9: 6, 20: 18}[iteration]


def test_a_run_that_diverged_can_be_resumed_from_its_last_good_checkpoint(tmp_path, straight, monkeypatch):
    config, reference = straight("digits")
    with monkeypatch.context() as patched:
        poison(patched, 8, lambda training: training.net.params["dense0.W"].fill(np.inf))
        with pytest.raises(Diverged):
            run(config, tmp_path / "run")
    resume(tmp_path / "run")
    assert difference(tmp_path / "run", reference) == ""


@pytest.mark.parametrize("rate", [1e30, 1e300])
def test_a_loss_without_bounds_ends_the_run_with_where_it_was_seen(tmp_path, rate):
    config = configure("digits", {"optimizer.learning_rate": rate, "optimizer.warmup": 0, "log_every": 1})
    with pytest.raises(Diverged, match=r"diverged at iteration 2: loss .*lower the learning rate, now 1e\+"):
        run(config, tmp_path)
    assert not (tmp_path / CHECKPOINT).exists()


def test_data_that_lead_to_nan_at_once_are_blamed_before_the_learning_rate(monkeypatch):
    real = Training.step

    def step(self, iteration):
        trace, norms = real(self, iteration)
        return with_(trace, loss=np.float32(np.nan)), norms

    monkeypatch.setattr(Training, "step", step)
    with pytest.raises(Diverged, match=r"iteration 1: loss nan.*look at the data and the initialization"):
        run(configure("xor"))


@pytest.mark.parametrize("bad", BAD)
def test_the_first_place_that_is_not_finite_is_named(batch, bad):
    net = mlp([64, 9, 8, 10])
    trace = net.trace(*batch)
    assert first_not_finite(net, trace) is None
    assert first_not_finite(net) is None
    for layer in ("dense0", "sigmoid1", "dense2"):
        spoilt = {name: y.copy() for name, y in trace.outputs.items()}
        for name in list(spoilt)[list(spoilt).index(layer) :]:
            spoilt[name].flat[-1] = bad
        assert first_not_finite(net, with_(trace, outputs=spoilt)) == f"the output of {layer}"
    for layer in ("dense0", "sigmoid1", "dense2"):  # backward: those nearer to the data come later
        spoilt = {name: delta.copy() for name, delta in trace.deltas.items()}
        for name in list(spoilt)[: list(spoilt).index(layer) + 1]:
            spoilt[name].flat[-1] = bad
        assert first_not_finite(net, with_(trace, deltas=spoilt)) == f"the gradient that reaches {layer}"
    net.params["dense2.W"].flat[3] = net.params["dense1.b"].flat[3] = bad
    assert first_not_finite(net) == first_not_finite(net, trace) == "dense1.b"
    with np.errstate(all="ignore"):
        assert first_not_finite(net, net.trace(*batch)) == "the output of dense1"


# Files


VIEWS = {
    "transposed": lambda a: a.T,
    "every other row": lambda a: a[::2],
    "some columns": lambda a: a[:, 1:3],
    "backwards": lambda a: a[::-1],
    "Fortran's": np.asfortranarray,
    "one row many times": lambda a: np.broadcast_to(a[0], a.shape),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strided_arrays_are_saved_as_they_read(tmp_path, view, dtype):
    w = view(np.arange(12, dtype=dtype).reshape(3, 4))
    save_file({"w": w}, tmp_path / "theirs.safetensors")
    write_tensors(tmp_path / "ours.safetensors", {"w": w, "v": w.copy()}, {"position": "here"})
    assert not np.array_equal(load_file(tmp_path / "theirs.safetensors")["w"], w)  # safetensors alone
    tensors, metadata = read_tensors(tmp_path / "ours.safetensors")
    assert metadata == {"position": "here"}
    assert tensors["w"].dtype == dtype
    np.testing.assert_array_equal(tensors["w"], w)


@pytest.mark.parametrize(
    "part", ["param.embedding.E", "best.dense.W", "slot.rnn0.Wh.m", "slot.rnn0.Wh.v", "state.rnn0.0"]
)
@pytest.mark.parametrize("bad", BAD)
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
    with pytest.raises(DataError, match=r"best\.dense0\.W does not fit the network of .*config\.json"):
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


# No pickle


class Payload:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", [CHECKPOINT, "config.json", "metrics.jsonl", "best.safetensors", "summary.json"])
def test_no_file_of_a_run_is_unpickled(tmp_path, xor, name):
    folder = begun(xor, tmp_path / "run", 7)
    (folder / name).write_bytes(pickle.dumps(Payload(tmp_path / "executed")))
    with suppress(DataError):
        resume(folder)
    assert not (tmp_path / "executed").exists()


def test_the_package_never_imports_pickle_nor_lets_numpy_do_so():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import():
                    names = [name.name for name in node.names]
                case ast.ImportFrom():
                    names = [node.module or ""]
                case ast.Call():
                    names = [ast.unparse(node.func)]
                    assert not [k for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) != "False"]
                case _:
                    continue
            for name in names:
                assert not re.search(r"pickle|\bdill\b|\bjoblib\b|\bshelve\b|\bmarshal\b", name), f"{path}: {name}"
                assert name not in ("eval", "exec", "torch.load"), f"{path}: {name}"
