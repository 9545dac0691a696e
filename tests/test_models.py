"""The network of a configuration, and settings that belong to another one."""

import dataclasses
import re

import pytest

from minisig.data import load
from minisig.errors import MinisigError, UsageError
from minisig.experiments import configure
from minisig.losses import MeanSquaredError, SigmoidCrossEntropy, SoftmaxCrossEntropy
from minisig.models import MODELS, build_network
from minisig.training.run import run


def test_an_lstm_takes_the_papers_size_unless_told_otherwise():
    assert configure("copy-memory", {"network.model": "lstm"}).network.hidden == (52,)
    assert configure("ptb-dropout", {"network.model": "lstm"}).network.hidden == (190,)
    assert configure("ptb", {"network.model": "lstm", "network.hidden": [7]}).network.hidden == (7,)


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
    (name,) = setting
    with pytest.raises(UsageError, match=f"{name} is a setting of {owner}; leave it out for {model}"):
        configure(experiment, {"network.model": model, **setting})


def test_a_setting_of_another_initialization_is_refused():
    with pytest.raises(UsageError, match=r"network\.radius is a setting of random\+ep; leave it out for lecun"):
        configure("copy-memory", {"network.init": "lecun", "network.radius": 4.5})


@pytest.mark.parametrize(("model", "init"), [("lstm", "random+ep"), ("gru", "ortho+ep"), ("lstm", "lsuv")])
def test_an_initialization_that_is_not_for_the_model_is_refused(model, init):
    with pytest.raises(UsageError, match=rf"network\.init: {re.escape(init)} is not for {model}; choose from: ortho,"):
        configure("copy-memory", {"network.model": model, "network.init": init})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"source": "digits", "delay": 7}, r"data\.delay is a setting of copy-memory; leave it out for digits"),
        ({"source": "copy-memory", "steps": 7}, r"data\.steps is a setting of ptb; leave it out for copy-memory"),
        ({"source": "file", "path": "x.csv", "vocabulary": 7}, r"data\.vocabulary is a setting of ptb"),
        ({"source": "digits", "path": "x.csv"}, "the source digits has data of its own: leave out data.path"),
        ({"source": "table"}, "the source table is read from data.path: give it"),
    ],
)
def test_a_setting_of_other_data_is_refused(data, message):
    with pytest.raises(UsageError, match=message):
        load(data)


def test_a_setting_of_another_optimizer_is_refused():
    with pytest.raises(UsageError, match=r"optimizer\.momentum is a setting of momentum; leave it out for adam"):
        configure("copy-memory", {"optimizer.momentum": 0.5})


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
def test_every_cell_is_a_model(model):
    config = configure("copy-memory", {"network.model": model, "network.init": "glorot", "network.hidden": [5]})
    net = build_network(config, load("copy-memory"))
    assert list(net.layers) == ["embedding", f"{model}0", "dense"]
    assert net.account.layers[1].layer == "dense"


def test_the_loss_is_the_datas_unless_another_is_asked_for(monkeypatch):
    data = load("xor")
    assert type(build_network(configure("xor"), data).loss) is SoftmaxCrossEntropy
    numbers = dataclasses.replace(data, classes=1, loss="mean-squared-error")
    assert type(build_network(configure("xor"), numbers).loss) is MeanSquaredError
    asked = configure("xor", {"network.loss": "sigmoid-cross-entropy"})
    assert type(build_network(asked, numbers).loss) is SigmoidCrossEntropy


def test_what_a_model_gives_is_checked(monkeypatch):
    monkeypatch.setitem(MODELS, "mine", lambda config, data: data)
    with pytest.raises(MinisigError, match="model 'mine': expected a Network, got Dataset"):
        build_network(configure("xor", {"network.model": "mine"}), load("xor"))
