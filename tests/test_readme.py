"""The README is true: its Python runs, its tables are those of benchmarks/results, its links to the package hold."""

import re
from pathlib import Path

import minisig

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_first_screen_has_exactly_two_set_up_commands():
    first_screen = README.split("\n## ")[0]
    commands = re.findall(r"^    (python3 -m venv .*)$", first_screen, re.MULTILINE)
    assert [command.rpartition("/")[2] for command in commands] == ["minisig train", "pytest"]


def test_the_library_example_runs():
    example, _ = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {}
    exec(compile(example.replace("print(", "str("), "README.md", "exec"), names)
    assert names["trace"].gradient_norms()["dense0.W"] > 0.1


def test_the_map_names_every_folder_and_file_of_the_package():
    package = Path(minisig.__file__).parent
    rooms = {p.name for p in package.iterdir() if p.is_dir() and p.name != "__pycache__"}
    rooms |= {p.name for p in package.glob("*.py") if not p.name.startswith("_")}
    map_ = README.split("## How it is built")[1]
    assert [room for room in rooms if room not in map_] == []
