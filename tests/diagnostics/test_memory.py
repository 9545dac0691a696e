"""What a recurrent network remembers: a decoder of its state, and the Jacobian from the first state to the last."""

import json

import numpy as np
import pytest

from minisig.data import load
from minisig.diagnostics.memory import remembered, sensitivity, states_before_recall
from minisig.experiments import configure
from minisig.models import build_network
from minisig.network import recurrent
from tests.cli.command import cli


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


def test_a_text_that_is_called_copy_memory_is_a_text(tmp_path):
    folder = tmp_path / "copy-memory"
    folder.mkdir()
    for part in ("train", "valid", "test"):
        (folder / f"{part}.txt").write_text("the cat sat on the mat\n" * 30)
    result = cli("inspect", "ptb", "--data", folder, "--hidden", 5, "--batch-size", 2)
    assert result.exit_code == 0
    assert "decoded" not in result.stdout
