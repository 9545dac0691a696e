"""The network of a configuration, and settings that belong to another one."""

import pytest

from minisig.data import DataConfig, load
from minisig.errors import MinisigError, UsageError
from minisig.experiments import configure
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


def test_what_a_model_gives_is_checked(monkeypatch):
    monkeypatch.setitem(MODELS, "mine", lambda config, data: data)
    with pytest.raises(MinisigError, match="model 'mine': expected a Network, got Dataset"):
        build_network(configure("xor", {"network.model": "mine"}), load("xor"))
