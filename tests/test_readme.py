"""The README is true: its Python runs, its tables are those of benchmarks/results, its links to the package hold."""

import re
import shlex
from pathlib import Path

import click
import pytest

import minisig
from benchmarks.readme import rendered
from minisig.cli import main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_first_screen_has_exactly_two_set_up_commands():
    first_screen = README.split("\n## ")[0]
    commands = re.findall(r"^    (python3 -m venv .*)$", first_screen, re.MULTILINE)
    assert [command.rpartition("/")[2] for command in commands] == ["minisig train", "pytest"]


def test_the_tables_are_those_of_the_results():
    assert rendered(README) == README


COMMANDS = [
    line
    for line in re.findall(r"^    (minisig [^#\n]*?)(?: {2,}.*|#.*)?$", README, re.MULTILINE)
    if not re.search(r"[\[|]|\.\.\.|COMMAND|EXPERIMENT", line)
]
assert COMMANDS


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_are_there_with_their_options(line):
    _, *words = shlex.split(line)
    command = main
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(click.Context(command), words)
    with command.make_context(name, words):
        pass


def examples(section):
    """The Python blocks of the section whose title starts so; those of "How to extend it" run in test_plugins.py."""
    return re.findall(r"```python\n(.*?)```", README.split(f"\n## {section}")[1].split("\n## ")[0], re.DOTALL)


def run(example):
    names = {}
    exec(compile(example.replace("print(", "str("), "README.md", "exec"), names)
    return names


def test_the_library_example_runs():
    (example,) = examples("As a library")
    assert run(example)["trace"].gradient_norms()["dense0.W"] > 0.1


def test_the_example_of_a_text_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = minisig.configure("text", {"iterations": 2, "network.hidden": [8]})
    minisig.run(config, "runs/text-ortho+ep-seed0")
    (example,) = examples("Your own text")
    names = run(example)
    assert names["p"].sum() == pytest.approx(1)
    assert len(names["model"].sample("Once upon a time", 200)) == 200


def test_the_scikit_learn_example_runs():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    names = run(examples("In scikit-learn")[0])
    assert names["search"].best_params_ == {"init": "random+ep"}
    assert names["search"].score(names["x"][900:], names["y"][900:]) > 0.7


def test_the_torch_example_runs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    names = run(examples("In scikit-learn")[1])
    assert torch.equal(names["model"][0].weight, torch.as_tensor(names["net"].params["dense0.W"].T))


def test_the_map_names_every_folder_and_file_of_the_package():
    package = Path(minisig.__file__).parent
    rooms = {f"{p.name}/" for p in package.iterdir() if p.is_dir() and p.name != "__pycache__"}
    rooms |= {p.name for p in package.glob("*.py") if not p.name.startswith("_")}
    map_ = re.findall(r"^    .*$", README.split("## How it is built")[1], re.MULTILINE)
    assert rooms - set(" ".join(map_).split()) == set()
