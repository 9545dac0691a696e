"""Recurrent networks in training: carried states, perplexity, memory, and the copy task learned."""

import json
import tracemalloc

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.data import DataConfig, Dataset, load
from minisig.data.sequences import Text
from minisig.diagnostics.memory import remembered, sensitivity, states_before_recall
from minisig.errors import UsageError
from minisig.experiments import configure
from minisig.network import recurrent
from minisig.training.build import build_network
from minisig.training.evaluate import evaluate
from minisig.training.loop import Training
from minisig.training.run import run
from tests.cli.command import cli


@pytest.fixture
def text():
    """A language with a little grammar: each token is followed by one of two."""
    rng = np.random.default_rng(0)
    tokens = [0]
    for step in rng.integers(1, 3, 3000):
        tokens.append((tokens[-1] * 2 + step) % 7)
    tokens = np.array(tokens)
    return Dataset("toy", *(Text(tokens[i : i + 1001], steps=10) for i in (0, 1000, 2000)), classes=7)


def toy_config(**overrides):
    return configure("ptb", {"network.hidden": [12], "batch_size": 4, "iterations": 60, "log_every": 20} | overrides)


def test_evaluation_carries_the_state_through_the_whole_text(text):
    net = recurrent(7, [12], dtype="float64")
    tokens = text.test.tokens
    z = net.forward(tokens[:-1, None])[:, 0]  # in one window of a thousand steps
    losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(1000), tokens[1:]]
    score = evaluate(net, text.test)  # in windows of five hundred
    assert score.loss == pytest.approx(losses.mean(), rel=1e-12)
    assert score.perplexity == pytest.approx(np.exp(losses.mean()))
    assert score.recall is None


def test_a_uniform_models_perplexity_is_the_vocabulary(text):
    net = recurrent(7, [12], dtype="float64")
    net.params["dense.W"][...] = 0
    net.params["dense.b"][...] = 0
    assert evaluate(net, text.test).perplexity == pytest.approx(7, rel=1e-12)


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


def test_ep_remembers_before_it_has_learned_anything():
    memory = {}
    for init in ("ortho+ep", "lecun"):
        config = configure("copy-memory", {"network.init": init, "data.delay": 60})
        data = load(config.data)
        memory[init] = remembered(build_network(config, data), data)
    assert memory["ortho+ep"].recall > 50
    assert memory["ortho+ep"].sensitivity > 1
    # 3,000 guesses of eight: 12.5 ± 0.6 %
    assert memory["lecun"].recall == pytest.approx(12.5, abs=3)
    assert memory["lecun"].sensitivity < 1e-30


def test_the_decoder_reads_the_state_that_has_seen_the_trigger_and_no_more():
    data = load(configure("copy-memory", {"data.delay": 4}).data)
    net = recurrent(10, [6], dtype="float64")
    part = data.test.head(3)
    state = net.advance(part.x[:, :-3].T)[1]["rnn0"]
    np.testing.assert_array_equal(states_before_recall(net, part), np.c_[state, np.ones(3)])


def test_sensitivity_is_the_norm_of_the_jacobian():
    net = recurrent(5, [6], rng=1, dtype="float64")
    tokens = np.random.default_rng(0).integers(0, 5, (9, 1))
    first = net.layers["rnn0"].last_state({name: cache for name, _, cache in net.steps(tokens[:1])}["rnn0"])
    J = np.empty((6, 6))
    for i in range(6):
        ends = []
        for nudge in (1e-6, -1e-6):
            state = first.copy()
            state[0, i] += nudge
            ends.append(net.advance(tokens[1:], {"rnn0": state})[1]["rnn0"][0])
        J[i] = (ends[0] - ends[1]) / 2e-6
    assert sensitivity(net, tokens) == pytest.approx(np.linalg.norm(J, 2), rel=1e-7)


@pytest.mark.parametrize(("experiment", "model"), [("digits", "rnn"), ("copy-memory", "mlp")])
def test_a_model_that_does_not_fit_the_data_is_refused(experiment, model):
    with pytest.raises(UsageError, match="the model must be"):
        run(configure(experiment, {"network.model": model, "iterations": 1}))


@pytest.mark.parametrize(
    ("experiment", "model", "setting", "owner"),
    [
        ("digits", "mlp", {"network.radius": 2.0}, "rnn"),
        ("digits", "mlp", {"network.forget_bias": 0.0}, "lstm"),
        ("copy-memory", "rnn", {"network.activation": "scaled-tanh"}, "mlp"),
        ("copy-memory", "rnn", {"network.forget_bias": 0.0}, "lstm"),
        ("copy-memory", "lstm", {"network.ep_mode": "joint"}, "rnn"),
        ("copy-memory", "lstm", {"network.input_rms": 0.2}, "rnn"),
    ],
)
def test_a_setting_of_another_model_is_refused(experiment, model, setting, owner):
    config = configure(experiment, {"network.model": model, **setting})
    (name,) = setting
    with pytest.raises(UsageError, match=f"{name} is a setting of the model {owner}; leave it out for the {model}"):
        build_network(config, load(config.data, seed=0))


@pytest.mark.parametrize(
    ("data", "owner"),
    [
        (DataConfig(source="digits", delay=7), "copy-memory"),
        (DataConfig(source="copy-memory", steps=7), "text"),
        (DataConfig(source="mnist", path="somewhere.csv", vocabulary=7), "text"),
        (DataConfig(source="copy-memory", path="some/folder", delay=7), "copy-memory"),
    ],
)
def test_a_setting_of_other_data_is_refused(data, owner):
    with pytest.raises(
        UsageError, match=rf"data\.\w+ is a setting of {owner}; leave it out for {data.path or data.source}"
    ):
        load(data)


def test_a_setting_of_another_optimizer_is_refused():
    config = configure("copy-memory", {"optimizer.momentum": 0.5})
    with pytest.raises(UsageError, match=r"optimizer\.momentum is a setting of the optimizer momentum"):
        run(config)


def test_an_lstm_takes_the_papers_size_unless_told_otherwise():
    assert configure("copy-memory", {"network.model": "lstm"}).network.hidden == (52,)
    assert configure("ptb-dropout", {"network.model": "lstm"}).network.hidden == (190,)
    assert configure("ptb", {"network.model": "lstm", "network.hidden": [7]}).network.hidden == (7,)


def test_states_of_one_precision_start_a_network_of_another(text):
    net = recurrent(7, [12])
    states = net.advance(text.test.tokens[:5, None])[1]
    z, _ = net.on(get_backend("numpy", "float64")).advance(text.test.tokens[5:9, None], states)
    assert z.dtype == np.float64


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


def test_inspect_tells_what_an_untrained_network_remembers():
    result = cli("inspect", "copy-memory", "--init", "ortho+ep", "--set", "data.delay=30")
    assert result.exit_code == 0
    assert "symbols decoded from the state after 30 steps" in result.stdout
    assert "sensitivity of the last state to the first" in result.stdout
    result = cli("inspect", "copy-memory", "--set", "data.delay=30", "--json")
    found = json.loads(result.stdout)
    assert found["memory"]["recall"] > 12.5
    assert [layer["name"] for layer in found["layers"]] == ["embedding", "rnn0", "dense"]
    result = cli("inspect", "--init", "lecun")
    assert result.exit_code == 0
    assert "dense8" in result.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--set", "data.delay"], ["NAME=VALUE"]),
        (["--set", "data.delay=0"], ["data.delay: expected int >= 1, got 0"]),
        (["--set", "data.dely=5"], ["unknown setting of data 'dely'. Did you mean 'delay'?"]),
        (["--model", "gru"], ["unknown model 'gru'"]),
        (["--model", "lstm", "--init", "random+ep"], ["for an LSTM"]),
        (["--set", "network.ep_mode=both"], ["unknown network.ep_mode 'both'. Choose from: recurrent, joint"]),
    ],
)
def test_wrong_settings_are_refused_in_one_line(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = cli("train", "copy-memory", "--iterations", 1, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(word in result.stderr for word in words)
    assert not list(tmp_path.iterdir())
