"""A project outside the package, with layers, initializations, data and experiments of its own: the README's."""

import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from minisig.data import SOURCES, Split, load
from minisig.errors import MinisigError, UsageError
from minisig.experiments import EXPERIMENTS, Experiment, configure
from minisig.plugins import Table
from tests.support.projects import beside, install, python

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXTENDING = README.split("## How to extend it")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The README's project, installed."""
    folder = tmp_path_factory.mktemp("project")
    code = "\n\n".join(re.findall(r"```python\n(.*?)```", EXTENDING, re.DOTALL))
    (toml,) = re.findall(r"```toml\n(.*?)```", EXTENDING, re.DOTALL)
    install(folder, code, tomllib.loads(toml)["project"]["entry-points"])
    return folder


def test_the_readmes_project_trains_from_the_command_line(project):
    done = python(project, "minisig", "train", "rings", "--init", "he", "--out", "run", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert (summary["experiment"], summary["model"], summary["init"]) == ("rings", "gained", "he")
    assert [row["name"] for row in summary["layers"]] == ["dense0", "dense1", "gain", "dense2"]
    assert summary["test_error"] < 3
    more = python(project, "minisig", "train", "--resume", "run", "--iterations", "1010", "--json")
    assert json.loads(more.stdout)["iterations"] == 1010


def test_the_readmes_project_is_inspected(project):
    done = python(project, "minisig", "inspect", "rings", "--json")
    assert done.returncode == 0, done.stderr
    gain = json.loads(done.stdout)["layers"][2]
    assert (gain["name"], gain["shape"]) == ("gain", [20])
    assert gain["gradient_norm"] > 0


def test_the_readmes_activation_trains_and_is_inspected(project):
    options = ("--activation", "swish", "--init", "he", "--hidden", "20,20", "--iterations", "300", "--json")
    done = python(project, "minisig", "train", "digits", *options, "--out", "swish")
    assert (done.returncode, done.stderr) == (0, "")
    done = python(project, "minisig", "inspect", "swish", "--json")
    assert [row["to"] for row in json.loads(done.stdout)["bounds"]] == ["swish1", "swish0"]


def test_the_readmes_layer_is_checked_by_the_pytest_plugin(project):
    (project / "test_it.py").write_text(
        "from my_project import Gain, experiment, gained, rings\n"
        "data = rings(None, 0)\n"
        "x, y = data.train.x[:20], data.train.y[:20]\n"
        "def test_right(gradient_flow):\n"
        "    net = gained(experiment.config, data)\n"
        "    gradient_flow.assert_correct(net, x, y)\n"
        "    gradient_flow.assert_alive(net, x, y)\n"
        "def test_wrong(gradient_flow, monkeypatch):\n"
        "    right = Gain.backward\n"
        "    monkeypatch.setattr(Gain, 'backward', lambda self, dy, x, backend: right(self, 2 * dy, x, backend))\n"
        "    gradient_flow.assert_correct(gained(experiment.config, data), x, y)\n"
    )
    done = python(project, "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", project, "test_it.py")
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "backward is wrong" in done.stdout
    assert "gain.a[" in done.stdout


def test_names_of_other_projects_are_suggested_and_completed(project):
    done = python(project, "minisig", "train", "ring")
    assert done.returncode == 2
    assert "Did you mean 'rings'?" in done.stderr
    line = {"_MINISIG_COMPLETE": "bash_complete", "COMP_WORDS": "minisig train r", "COMP_CWORD": "2"}
    assert python(project, "minisig", **line).stdout.split() == ["plain,rings"]


BROKEN = """
import sys

def fails(sizes, rngs, inputs, activation):
    return 1 / 0

def leaves(config, seed):
    sys.exit("no data today")

def nothing(sizes, rngs, inputs, activation):
    return None

def flat(sizes, rngs, inputs, activation):
    import numpy as np, minisig as ms
    return [(np.ones((1, 1)), np.ones(1)) for _ in sizes[1:]], ms.Target()

number = 5
"""
BROKEN_ENTRIES = {
    "minisig.initializers": {
        "absent": "no_such_module:f",
        "fails": "broken:fails",
        "nothing": "broken:nothing",
        "flat": "broken:flat",
        "number": "broken:number",
    },
    "minisig.data": {"leaves": "broken:leaves"},
    "minisig.experiments": {"gone": "broken:gone", "five": "broken:number"},
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    install(folder, BROKEN, BROKEN_ENTRIES, name="broken")
    return folder


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--init", "absent"], "'absent' in minisig.initializers, of broken: ModuleNotFoundError: No module named"),
        (["--init", "fails"], "'fails' in minisig.initializers, of broken: ZeroDivisionError: division by zero"),
        (["--init", "nothing"], "init 'nothing': expected ([(W, b), …], Target)"),
        (["--init", "flat"], "for every layer of 64→100→100"),
        (["--init", "number"], "broken:number is int, expected Callable"),
        (["--set", "data.source=leaves"], "'leaves' in minisig.data, of broken: SystemExit: no data today"),
        (["gone"], "'gone' in minisig.experiments, of broken: AttributeError"),
        (["five"], "broken:number is int, expected Experiment"),
    ],
)
def test_a_broken_plugin_is_one_line(broken, args, message):
    done = python(broken, "minisig", "train", "--iterations", "1", *args)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (broken / "runs").exists()


def test_what_nobody_asks_for_is_not_loaded(broken):
    assert python(broken, "minisig", "train", "xor", "--iterations", "1").returncode == 0
    code = (
        "import sys, minisig as ms; ms.configure('xor'); ms.mlp([2, 2])\n"
        "assert 'declared' not in vars(ms.INITIALIZERS) | vars(ms.EXPERIMENTS), 'looked through'\n"
        "assert 'fails' in ms.INITIALIZERS and 'broken' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=beside(broken))


def test_a_table_is_ours_first_then_theirs(tmp_path, monkeypatch):
    install(tmp_path, "theirs = lambda: 2", {"minisig.toys": {"theirs": "toys:theirs", "ours": "toys:theirs"}}, "toys")
    monkeypatch.syspath_prepend(tmp_path)
    table = Table("toys", {"ours": lambda: 1})
    assert [*table] == ["ours", "theirs"]
    assert len(table) == 2
    assert [table[name]() for name in table] == [1, 2]
    assert ("theirs" in table, "nobodys" in table) == (True, False)
    with pytest.raises(KeyError):
        table["nobodys"]
    table["mine"] = lambda: 3
    assert table["mine"]() == 3
    del table["mine"]
    assert "mine" not in table


def test_two_projects_that_declare_one_name_are_both_named(tmp_path, monkeypatch):
    for name in ("first", "second"):
        install(tmp_path, "f = print", {"minisig.toys": {"f": f"{name}:f"}}, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MinisigError, match=r"(first and second|second and first) both declare 'f' in minisig.toys"):
        Table("toys", {})["f"]


def test_a_plugins_own_message_reaches_the_user(tmp_path, monkeypatch):
    code = "from minisig.errors import UsageError\ndef f(): raise UsageError('bring a towel')\n"
    install(tmp_path, code, {"minisig.toys": {"f": "towel:f", "g": "towel:absent"}}, "towel")
    monkeypatch.syspath_prepend(tmp_path)
    table = Table("toys", {})
    with pytest.raises(UsageError, match=r"^bring a towel$"):
        table["f"]()
    with pytest.raises(MinisigError, match="expected Experiment"):
        Table("toys", {}, Experiment)["f"]


def test_an_experiment_goes_by_the_name_it_was_asked_for_by(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "other", EXPERIMENTS["digits"])
    assert configure("other").experiment == "other"


def test_what_is_put_into_a_table_must_be_what_belongs_there():
    with pytest.raises(MinisigError, match=r"'x' in minisig\.experiments is Config, expected Experiment"):
        EXPERIMENTS["x"] = configure("xor")


def with_train(x, y):
    return dataclasses.replace(load("xor"), train=Split(np.asarray(x), np.asarray(y)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "expected a Dataset, got NoneType"),
        (dataclasses.replace(load("xor"), classes=1), "the labels of train are not all among 0 … 0"),
        (with_train(np.zeros((0, 2)), np.zeros(0, dtype=int)), r"for train, got \(0, 2\) and"),
        (with_train(np.zeros((3, 2)), [0, 1]), r"got \(3, 2\) and int64 \(2,\)"),
        (with_train(np.zeros((3, 2)), [0, 0.5, 1]), r"integer labels.*got \(3, 2\) and float64 \(3,\)"),
        (with_train(np.zeros((3, 2, 2)), [0, 1, 1]), r"x \(N, n\).*got \(3, 2, 2\)"),
    ],
    ids=["nothing", "labels", "empty", "too few labels", "labels that are no integers", "no vectors"],
)
def test_what_a_source_gives_is_checked(monkeypatch, given, message):
    monkeypatch.setitem(SOURCES, "mine", lambda config, seed: given)
    with pytest.raises(MinisigError, match=message):
        load("mine")
