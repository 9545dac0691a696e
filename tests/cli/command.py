"""minisig as its users run it, and what it leaves behind."""

import json
import os
import subprocess
import sys
import time

import click
from click.testing import CliRunner

from minisig.cli import main

PYTHON_M = (sys.executable, "-m", "minisig")


def cli(*args):
    """The result of `minisig` with these arguments, which no exception may escape."""
    return CliRunner().invoke(main, [*map(str, args)], catch_exceptions=False)


def python_m(*args, **options):
    """`minisig` with these arguments, as a process that has ended; it wrote bytes, unless text is asked for."""
    return subprocess.run([*PYTHON_M, *map(str, args)], **{"capture_output": True, "timeout": 300} | options)


def python(*args, **env):
    """Python with these arguments and variables, its output as text."""
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=300, env=os.environ | env, encoding="utf-8"
    )


def commands(group=main, path=()):
    """Every command by its whole name, such as `data list`, and those that only hold others."""
    for name, command in group.commands.items():
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def strict(text):
    """JSON as its standard has it: no NaN, no Infinity."""

    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def tree(folder):
    """Everything below: files with their content and when they were written, locks without the time, folders."""

    def known(path):
        if path.is_file():
            return path.read_bytes(), None if path.name == ".lock" else path.stat().st_mtime_ns
        return None

    return {path: known(path) for path in folder.rglob("*")}


def finished_runs(folder):
    """The folders of a comparison's runs."""
    return [path for path in folder.glob("[!.]*-seed*") if path.is_dir()]


def wait_until(true, seconds=120):
    """Long enough for a machine that is busy with other things."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
