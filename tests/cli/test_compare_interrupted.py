"""minisig compare, interrupted: by Ctrl-C, by other signals, and without a word."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.cli.command import PYTHON_M, cli, finished_runs, strict, tree, wait_until

pytestmark = pytest.mark.usefixtures("here")
# As far as anybody waits: the first of a thousand runs is soon there, the last is not.
ENDLESS = ("xor", "--init", "lecun,ortho", "--seeds", 500, "--iterations", 1000, "--out", "runs")
cli = partial(cli, "compare")
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to look for processes in")


def started(*args, **options):
    """`minisig compare` as a process, and the leader of a group of them."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*PYTHON_M, "compare", *map(str, args)], start_new_session=True, **pipes | options)


def living(group):
    """The processes of a group that are not dead, or waiting for somebody to take note of it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):  # it has gone while we looked
            continue
        if int(of_group) == group and state != "Z":
            found.append(path.parent.name)
    return found


def without_seconds(folder):
    found = strict((folder / "comparison.json").read_text())
    lines = (folder / "comparison.csv").read_text().splitlines()
    return (
        [{name: value for name, value in row.items() if name != "seconds"} for row in found["rows"]],
        [line.rpartition(",")[0] for line in lines],
        (folder / "comparison.md").read_text(),
    )


KILLED = """
import os, signal
from minisig.cli import main
from minisig.training.loop import Training

real = Training.step

def step(self, iteration):
    if iteration == 30 and self.config.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, iteration)

Training.step = step
main(prog_name="minisig")
"""  # in the middle of the second run


@pytest.mark.usefixtures("without_figures")
def test_a_comparison_that_was_killed_goes_on_to_the_same_table(here):
    args = ("xor", "--init", "lecun,ortho", "--seeds", 4, "--iterations", 60, "--out")
    done = subprocess.run([sys.executable, "-c", KILLED, "compare", *map(str, args), "runs"], timeout=300)
    assert done.returncode == -signal.SIGKILL
    (run,) = finished_runs(here / "runs")
    kept = tree(run)
    assert len(kept) == 3  # files
    assert not (here / "runs" / "comparison.json").exists()
    assert cli(*args, "runs").exit_code == 0
    assert tree(here / "runs").items() > kept.items()
    assert cli(*args, "straight").exit_code == 0
    assert without_seconds(here / "runs") == without_seconds(here / "straight")


@needs_proc
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("workers", [(), ("--workers", 2)], ids=["here", "processes"])
def test_ctrl_c_ends_it_with_all_its_processes_and_no_traceback(here, workers):
    with started(*ENDLESS, *workers) as process:
        wait_until(lambda: finished_runs(here / "runs"))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        stdout, stderr = process.communicate(timeout=300)
    wait_until(lambda: not living(process.pid))
    assert process.returncode == 130
    kept = "finished runs are kept in runs, the same command goes on with the others"
    assert (stdout, stderr) == ("", f"Error: stopped; {kept}\n")
    visible = {path.name for path in (here / "runs").iterdir() if not path.name.startswith(".")}
    assert visible == {path.name for path in finished_runs(here / "runs")}


@needs_proc
@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGKILL], ids=["terminated", "killed"])
def test_workers_do_not_outlive_a_comparison_that_is_ended(here, signal_):
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # or orphans keep our pipes open
    process = started(*ENDLESS, "--workers", 2, **nothing)
    try:
        wait_until(lambda: finished_runs(here / "runs"))
        process.send_signal(signal_)
        process.wait(60)
        wait_until(lambda: not living(process.pid))
    finally:
        if living(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
