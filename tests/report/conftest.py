"""A run and a comparison, made for real, and folders that nobody's training would leave."""

import json
from contextlib import closing

import msgspec
import pytest

from minisig.experiments import configure
from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here
from minisig.training.run import run

SMALL = {"iterations": 60, "network.hidden": [12, 8, 8], "log_every": 5, "validate_every": 20, "threads": 1}


@pytest.fixture(scope="session")
def one(tmp_path_factory):
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("report") / "one"
    run(configure("digits", SMALL), folder)
    return folder


@pytest.fixture(scope="session")
def several(tmp_path_factory):
    """The folder of a comparison: two initializations, two seeds."""
    folder = tmp_path_factory.mktemp("report") / "several"
    compare(plan("digits", ["random+ep", "lecun"], 2, SMALL), folder, Here)
    return folder


@pytest.fixture(scope="session")
def records(one):
    """What the run logged."""
    return [json.loads(line) for line in (one / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture
def written(tmp_path):
    """Write a run folder by hand: its configuration with some settings replaced, its lines, its summary."""

    def write(lines, settings=None, summary=None, name="run"):
        folder = tmp_path / name
        folder.mkdir()
        config = msgspec.to_builtins(configure("digits", SMALL))
        for dotted, value in (settings or {}).items():
            *path, last = dotted.split(".")
            inner = config
            for step in path:
                inner = inner[step]
            inner[last] = value
        (folder / "config.json").write_text(json.dumps(config))
        with closing((folder / "metrics.jsonl").open("w", encoding="utf-8")) as file:
            file.writelines(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
        if summary:
            (folder / "summary.json").write_text(json.dumps(summary))
        return folder

    return write
