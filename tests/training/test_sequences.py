"""Recurrent networks in training: carried states, flat memory, and languages and the copy task learned."""

import json
import tracemalloc

import numpy as np
import pytest

from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.loop import Training
from minisig.training.run import run
from tests.cli.command import cli


def toy_config(**overrides):
    return configure("ptb", {"network.hidden": [12], "batch_size": 4, "iterations": 60, "log_every": 20} | overrides)


def test_training_carries_the_state_from_window_to_window_and_drops_it_with_the_epoch(text):
    training = Training(build_network(toy_config(), text), text, toy_config())
    end = np.zeros(0)
    for iteration in range(1, 28):
        trace, _ = training.step(iteration)
        states = trace.caches["rnn0"].h
        if iteration in (1, 26):  # 25 windows an epoch
            assert (states[0] == 0.5).all()
        else:
            np.testing.assert_array_equal(states[0], end)
        end = states[-1].copy()


@pytest.mark.parametrize("model", ["rnn", "lstm"])
def test_a_language_with_grammar_is_learned_down_to_its_entropy(text, model):
    config = toy_config(**{"network.model": model, "iterations": 600, "optimizer.learning_rate": 0.01})
    training = Training(build_network(config, text), text, config)
    list(training)
    # Two equally likely continuations: a perplexity of 2, and no model can do better but by chance.
    assert 1.9 < training.best_score.perplexity < 2.3


def test_memory_stays_flat_over_a_long_run(text):
    config = toy_config(iterations=1200)
    training = Training(build_network(config, text), text, config)
    for iteration in range(1, 200):
        training.step(iteration)
    tracemalloc.start()
    try:
        training.step(200)
        early, _ = tracemalloc.get_traced_memory()
        for iteration in range(201, 1200):
            training.step(iteration)
        late, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert late - early < 50_000  # a thousand steps; a single kept window would be a hundred times that in the end


def test_copy_memory_is_learned_with_ep_and_not_without():
    """Twenty steps of delay: the same contrast as at a hundred, in seconds."""
    settings = {"data.delay": 20, "iterations": 800, "optimizer.warmup": 200, "validate_every": 200}
    alive = run(configure("copy-memory", settings | {"network.init": "ortho+ep"}))
    dead = run(configure("copy-memory", settings | {"network.init": "lecun"}))
    assert alive["test_recall"] > 90
    assert alive["test_perplexity"] < alive["baselines"]["memoryless"] < dead["test_perplexity"]
    assert dead["test_recall"] < 25


def test_the_command_line_trains_on_a_folder_of_text(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "text"
    folder.mkdir()
    for part, lines in {"train": 200, "valid": 20, "test": 20}.items():
        text = "\n".join(" ".join(rng.choice(["tick", "tock", "ding"], 6)) for _ in range(lines))
        (folder / f"{part}.txt").write_text(text)
    out = tmp_path / "run"
    result = cli("train", "ptb", "--data", folder, "--hidden", 8, "--iterations", 40, "--out", out)
    assert result.exit_code == 0
    assert "test perplexity" in result.stdout
    assert "unigram" in result.stdout
    summary = json.loads((out / "summary.json").read_text())
    assert 1 < summary["test_perplexity"] < 10
    assert [layer["name"] for layer in summary["layers"]] == ["embedding", "rnn0", "dense"]


def test_the_command_line_shows_recall_beside_the_memoryless_baseline(tmp_path):
    settings = ["--set", "data.delay=5", "--set", "optimizer.warmup=0"]
    result = cli("train", "copy-memory", "--iterations", 20, *settings, "--out", tmp_path / "run")
    assert result.exit_code == 0
    assert "memoryless 1.76" in result.stdout  # 8^(3/11)
    assert "recall" in result.stdout
    assert "test_recall" in json.loads((tmp_path / "run" / "summary.json").read_text())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--set", "data.delay"], ["NAME=VALUE"]),
        (["--set", "data.delay=0"], ["data.delay: expected int >= 1, got 0"]),
        (["--set", "data.dely=5"], ["unknown setting of data 'dely'. Did you mean 'delay'?"]),
        (["--model", "grn"], ["unknown model 'grn'. Did you mean 'rnn'?"]),
        (
            ["--model", "lstm", "--init", "random+ep"],
            ["network.init: random+ep is not for lstm; choose from: ortho, glorot, lecun"],
        ),
        (["--set", "network.ep_mode=both"], ["unknown network.ep_mode 'both'. Choose from: recurrent, joint"]),
    ],
)
def test_wrong_settings_are_refused_in_one_line(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = cli("train", "copy-memory", "--iterations", 1, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(word in result.stderr for word in words)
    assert not list(tmp_path.iterdir())
