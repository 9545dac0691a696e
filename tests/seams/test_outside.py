"""One part of every kind from a project outside the package, each by its entry point, from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import minisig as ms
from tests.support.projects import install, python

GROUPS = {
    "optimizers": {"nesterov": "Nesterov"},
    "schedules": {"exponential": "Exponential"},
    "losses": {"hinge": "Hinge"},
    "activations": {"arctan": "Arctan"},
    "cells": {"leaky": "Leaky"},
    "initializers": {"gaussian": "gaussian"},
    "data": {"rings": "rings"},
    "backends": {"plain": "PlainNumPy"},
}
XOR, COPY = ["xor", "--iterations", 40], ["copy-memory", "--hidden", 8, "--iterations", 5, "--set", "data.delay=5"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    code = (Path(__file__).parent / "outside.py").read_text(encoding="utf-8")
    entry_points = {
        f"minisig.{group}": {name: f"outside:{attribute}" for name, attribute in rows.items()}
        for group, rows in GROUPS.items()
    }
    install(folder, code, entry_points, "outside")
    return folder


TRAINED = {
    "optimizer": [*XOR, "--set", "optimizer.name=nesterov", "--set", "optimizer.lookahead=0.5"],
    "schedule": [*XOR, "--set", "optimizer.schedule=exponential", "--set", "optimizer.half_life=10"],
    "loss": [*XOR, "--set", "network.loss=hinge", "--set", "network.margin=0.5", "--set", "select_by=misses"],
    "activation": [*XOR, "--activation", "arctan", "--init", "lsuv", "--set", "network.sharpness=2"],
    "cell": [*COPY, "--model", "leaky", "--init", "glorot", "--set", "network.start=0.1"],
    "initializer": [*XOR, "--init", "gaussian", "--set", "network.gain=1.5"],
    "initializer of an rnn": [*COPY, "--model", "rnn", "--init", "gaussian", "--set", "network.gain=1.5"],
    "initializer of a gru": [*COPY, "--model", "gru", "--init", "gaussian", "--set", "network.gain=0.7"],
    "initializer of its own cell": [*COPY, "--model", "leaky", "--init", "gaussian", "--set", "network.gain=0.7"],
    "data": [*XOR, "--set", "data.source=rings", "--set", "data.rings=3"],
    "backend": [*XOR, "--backend", "plain"],
}


@pytest.mark.parametrize("kind", TRAINED)
def test_a_part_of_every_kind_trains_with_its_own_setting_and_resumes(project, kind):
    out = kind.replace(" ", "-")
    done = python(project, "minisig", "train", *TRAINED[kind], "--out", out, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert np.isfinite(summary["test_loss"])
    more = python(project, "minisig", "train", "--resume", out, "--iterations", 50, "--json")
    assert json.loads(more.stdout)["iterations"] == 50, more.stderr
    given = dict(text.split("=") for text in TRAINED[kind] if "=" in str(text))
    config = json.loads((project / out / "config.json").read_text())
    for name, value in given.items():
        group, _, setting = name.partition(".")
        assert str(config[group][setting] if setting else config[group]) in (value, f"{value}.0")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--set", "optimizer.name=nesterov", "--set", "optimizer.lookahead=2"],
            "lookahead: expected float < 1",
        ),
        (["--set", "optimizer.name=nesterov", "--set", "optimizer.momentum=0.5"], "momentum is a setting of momentum"),
        (["--set", "optimizer.name=nestrov"], "Did you mean 'nesterov'?"),
        (["--init", "gaussian", "--set", "network.gian=2"], "Did you mean 'gain'?"),
    ],
)
def test_its_settings_are_checked_like_ours(project, args, message):
    done = python(project, "minisig", "train", *XOR, *args)
    assert done.returncode == 2
    assert message in done.stderr


def test_the_command_line_lists_its_names_and_settings(project):
    done = python(project, "minisig", "settings", "xor", "--set", "optimizer.name=nesterov", "--init", "gaussian")
    assert done.returncode == 0, done.stderr
    assert ["optimizer.lookahead", "0.9", "of", "nesterov"] in [line.split() for line in done.stdout.splitlines()]
    assert ["network.gain", "1.0", "of", "gaussian"] in [line.split() for line in done.stdout.splitlines()]
    assert "rmsprop, nesterov" in done.stdout
    line = {"_MINISIG_COMPLETE": "bash_complete", "COMP_WORDS": "minisig train --model l", "COMP_CWORD": "3"}
    assert python(project, "minisig", **line).stdout.split() == ["plain,lstm", "plain,leaky"]


def test_its_backwards_are_right_and_its_observer_sees_the_run():
    """The same project imported: nothing in it needs an entry point."""
    from tests.seams import outside

    rng = np.random.default_rng(0)
    x, labels = rng.standard_normal((9, 4)), rng.integers(0, 3, 9)
    for net in (
        ms.mlp([4, 6, 3], loss=outside.Hinge()),
        ms.mlp([4, 6, 3], activation=outside.Arctan(2.0), init="lsuv", x=x),
    ):
        assert ms.check_gradients(net, x, labels).error < 1e-9
    backend, sizes = ms.get_backend("numpy", "float64"), [(4, 6), (6, 6), (6,)]
    leaky = outside.Leaky(*(0.5 * rng.standard_normal(size) for size in sizes))
    dense = ms.Dense(rng.standard_normal((6, 3)), np.zeros(3))
    net = ms.Network({"leaky": leaky, "dense": dense}, backend)
    assert ms.check_gradients(net, rng.standard_normal((5, 2, 4)), rng.integers(0, 3, (5, 2))).error < 1e-9
    slopes = outside.Slopes()
    summary = ms.run(ms.configure("xor", {"iterations": 40}), observers=[slopes])
    assert [iteration for iteration, _ in slopes.seen] == [1, 20, 40]
    assert slopes.summary == summary
