"""Damaged files of runs and of data: each is read to something valid or refused."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tracemalloc
import zlib
from collections import Counter
from functools import partial
from pathlib import Path
from unittest.mock import patch
from warnings import catch_warnings, simplefilter

import numpy as np
from click.testing import CliRunner

from minisig.cli import main
from minisig.cli.repeat import commands
from minisig.errors import DataChanged, DataError, Diverged, UsageError
from minisig.experiments.compare import compare, curves, plan
from minisig.experiments.executors import Here
from minisig.jsonable import jsonable
from minisig.report.comparison import comparison_csv, comparison_json, comparison_markdown, comparison_text
from minisig.report.page import embedded
from minisig.report.runs import read_paths
from minisig.report.sections import section
from minisig.training.files import read_config, read_tensors
from minisig.training.restore import restore
from minisig.training.run import resume, run
from tests.data.mutations import KINDS_OF_FILES, one_of
from tests.faults.runs import begun, contents, kind, lay, tables
from tests.faults.strange import strange_json, strange_line, strange_quality, strange_tensors, torn

MAX_MEMORY = 32 * 2**20  # while one is read and gone on with
# Kilobytes that the process may grow by, in what Python does not count; tracemalloc itself takes 15 for every file.
MAX_GROWTH = 512 * 2**10
MAX_SECONDS = 120


class Folder:
    """One folder of files, one of them to be damaged; `meet` is what then happens to it."""

    def __init__(self, path, goods, name, spoil, meet):
        self.path, self.goods, self.name, self.spoil, self.meet = path, goods, name, spoil, meet

    def damage(self, rng):
        good = one_of(self.goods, rng)
        self.laid = {**good, self.name: self.spoil(good[self.name], rng)}
        lay(self.path, self.laid)

    def fate(self):
        """What became of it, "read" or "refused" or else what is wrong with that, and the memory it took."""
        tracemalloc.start()
        signal.alarm(MAX_SECONDS)
        try:
            fate = self.meet(self)
        except (DataError, UsageError, Diverged) as error:
            changed = contents(self.path) != self.laid and not isinstance(error, Diverged)
            fate = "refused, and yet something was written" if changed else "refused"
        except (Exception, Hang) as error:
            fate = f"{type(error).__name__}: {str(error)[:200]}"
        signal.alarm(0)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return fate if memory < MAX_MEMORY else f"{memory >> 20} MB, and {fate}"


class Hang(BaseException):
    pass


def give_up(number, frame):
    raise Hang(f"more than {MAX_SECONDS} s")


def resumed(folder):
    """Comes to a good end, every number finite, and what it logged in lines of its own."""
    config = read_config(folder.path)
    if not (config.iterations <= 1000 and sum(config.network.hidden) < 500 and getattr(config.data, "delay", 0) < 200):
        return "read"  # it may be somebody's wish, but it takes long
    summary = resume(folder.path)
    assert jsonable(summary) == summary, f"not finite: {summary}"
    assert json.loads((folder.path / "summary.json").read_text()) == summary
    kept = 0
    if "checkpoint.safetensors" in folder.laid:
        (folder.path / "before.safetensors").write_bytes(folder.laid["checkpoint.safetensors"])
        kept = json.loads(read_tensors(folder.path / "before.safetensors")[1]["position"])["metrics_bytes"]
        (folder.path / "before.safetensors").unlink()
    logged = (folder.path / "metrics.jsonl").read_bytes()
    assert logged[:kept] == folder.laid["metrics.jsonl"][:kept]
    for line in logged[kept:].splitlines():
        assert json.loads(line)["train_loss"] > 0
    assert kept == 0 or len(logged) == kept or logged[kept - 1 : kept] == b"\n", "one line runs into another"
    return restored(folder)


def restored(folder):
    with catch_warnings():
        simplefilter("ignore", DataChanged)  # which is right where the hash of the data is what was damaged
        _, _, net = restore(folder.path)
    assert all(np.isfinite(w).all() for w in net.params.values()), "parameters are not finite"
    return "read"


def shown(folder):
    """By the command line, without a report."""
    with patch.dict(sys.modules, plotly=None):
        result = CliRunner().invoke(main, ["train", "--resume", str(folder.path)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        assert re.fullmatch("Error: .*\n", result.stderr), result.stderr
    return {0: "read", 2: "refused", 5: "refused"}.get(result.exit_code, f"exit code {result.exit_code}")


def tabled(jobs, folder):
    comparison = compare(jobs, folder.path.parent, Here)
    json.dumps(comparison_json(comparison), allow_nan=False)
    for form in (comparison_text, comparison_markdown, comparison_csv):
        form(comparison)
    for row in comparison.rows:
        for metric in ("train_loss", "valid_error"):
            assert all(np.isfinite(values).all() for values in curves(row.results, metric).values())
    return "read"


def reported(folder):
    """Becomes sentences, tables and charts of finite numbers."""
    runs, failures = read_paths([folder.path])
    found = section(runs, failures, commands)
    embedded([*(view.chart for view in found.views), *found.profiles])
    return "read"


def run_files(folder):
    """Folders to be damaged, by the kind of the file."""
    unfinished = []
    for name in ("xor", "text"):
        config = kind(name, folder / "words")
        begun(config, folder / name, 12)
        run(config, folder / f"{name}-done")
        done = contents(folder / f"{name}-done")
        without_end = {file: done[file] for file in ("config.json", "metrics.jsonl", "checkpoint.safetensors")}
        unfinished += [contents(folder / name), without_end]
    of_quality = []
    for name, config in tables(folder / "tables").items():
        run(config, folder / name)
        of_quality.append(contents(folder / name))
    place = folder / "damaged"
    jobs = plan("xor", ["lecun"], 2, {"iterations": 3, "log_every": 1})
    compare(jobs, folder / "table", Here)
    compared = folder / "table" / jobs[0].folder
    results, table = [contents(compared)], partial(tabled, jobs)
    return {
        "checkpoint": Folder(place, unfinished, "checkpoint.safetensors", strange_tensors, resumed),
        "configuration": Folder(place, unfinished, "config.json", strange_json, resumed),
        "metrics": Folder(place, unfinished, "metrics.jsonl", torn, resumed),
        "parameters": Folder(place, [done], "best.safetensors", strange_tensors, restored),
        "summary": Folder(place, [done], "summary.json", strange_json, shown),
        "reported metrics": Folder(place, [done], "metrics.jsonl", strange_line, reported),
        "reported summary": Folder(place, [done], "summary.json", strange_json, reported),
        "reported configuration": Folder(place, [done], "config.json", strange_json, reported),
        "reported quality": Folder(place, of_quality, "summary.json", strange_quality, reported),
        "shown quality": Folder(place, of_quality, "summary.json", strange_quality, shown),
        "compared metrics": Folder(compared, results, "metrics.jsonl", strange_line, table),
        "compared summary": Folder(compared, results, "summary.json", strange_json, table),
        "compared configuration": Folder(compared, results, "config.json", strange_json, table),
    }


def damaged_files(folder, count):
    """So many damaged files of every kind that runs leave behind, each met by what reads it."""
    figures, misses = Counter(), []
    signal.signal(signal.SIGALRM, give_up)
    # Public data that are here would be found by a configuration that has lost its path, and take memory.
    elsewhere = dict.fromkeys(("MINISIG_DATA", "XDG_CACHE_HOME"), str(folder / "nothing"))
    with patch.object(os, "fsync", lambda file: None), patch.dict(os.environ, elsewhere):
        folders = run_files(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for name, damaged in folders.items():
            for number in range(count):
                damaged.damage(np.random.default_rng([number, zlib.crc32(name.encode())]))
                fate = damaged.fate()
                figures[f"{name} {fate if fate in ('read', 'refused') else 'missed'}"] += 1
                if fate not in ("read", "refused"):
                    misses.append(f"{name} {number}: {fate}")
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if more > MAX_GROWTH:
        misses.append(f"the process grew by {more >> 10} MB")
    return figures, misses


def damaged_data(folder, times):
    """The files of test_fuzz.py, so many times as many."""
    tests = [Path(__file__).parents[1] / "data" / "test_fuzz.py", "-k", "test_a_damaged_file"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *tests],
        env=os.environ | {"MINISIG_FUZZ": str(times)},
        capture_output=True,
        text=True,
        check=False,
    )
    figures = Counter(dict.fromkeys(KINDS_OF_FILES, 2000 * times))
    return figures, done.stdout.splitlines()[-10:] if done.returncode else []
