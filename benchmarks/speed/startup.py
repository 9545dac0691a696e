"""CPU time until `minisig --help` has answered and `import minisig` is done, against what Python itself needs."""

import os
import sys
import sysconfig
from pathlib import Path

from benchmarks.speed.measure import Spread, ratios, spread

PYTHON = [sys.executable, "-c"]
HELP = [str(Path(sysconfig.get_path("scripts")) / "minisig"), "--help"]

# what: command, what it is compared with, and the most it may take of that
STARTS = {
    "minisig --help": (HELP, "import click", 2.5),
    "import minisig": ([*PYTHON, "import minisig"], "import numpy", 1.5),
}


def measure(rounds: int) -> dict[str, dict[str, Spread]]:
    found = {}
    for what, (command, other, _) in STARTS.items():
        ours, theirs = [], []
        for round_ in range(rounds + 1):
            times = cpu_time(command), cpu_time([*PYTHON, other])
            if round_:  # the first one fills the disk's cache
                ours.append(times[0])
                theirs.append(times[1])
        milliseconds = spread([1e3 * seconds for seconds in ours])
        found[what] = {"milliseconds": milliseconds, "ratio": ratios(ours, theirs)}
    return found


def cpu_time(command: list[str]) -> float:
    """Of a process and all that it waits for."""
    with Path(os.devnull).open("wb") as nowhere:
        files = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        process = os.posix_spawn(command[0], command, os.environ, file_actions=files)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime
