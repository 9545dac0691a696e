"""Runs that are killed, and comparisons whose workers are."""

import multiprocessing
import os
import shutil
import signal
import time
from collections import Counter
from functools import partial

import numpy as np

from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here, processes
from minisig.report.comparison import comparison_json
from tests.data.mutations import one_of
from tests.faults.disk import Disk
from tests.faults.runs import KINDS, child, difference, go_on, kind, undisturbed


def kills(folder, wanted, names=tuple(KINDS)):
    """So many runs killed one to three times each, at any moment or at a call that writes, then brought to an end."""
    figures, misses = Counter(), []
    configs = {name: kind(name, folder / "words") for name in names}
    known = {name: undisturbed(config, folder / name) for name, config in configs.items()}
    number = 0
    while figures["runs killed"] < wanted:
        rng, name, place = np.random.default_rng([number, 1]), names[number % len(names)], folder / str(number)
        reference, seconds, calls = known[name]
        task, hits = partial(go_on, configs[name], place), 0
        for _ in range(rng.integers(1, 4)):
            how = one_of(["at any moment", "at any moment", "at a write", "halfway through a checkpoint"], rng)
            if how == "at any moment":
                code = child(task, killed_after=rng.uniform(0, seconds))
            else:
                half = "half" in how  # of a checkpoint, then
                places = [n for n, call in enumerate(calls, 1) if call == "save" or not half]
                disk = Disk(place, one_of(places, rng), die, torn=half)
                code = child(partial(disk.under, task))
            if code == 0:
                break
            hits += 1
            figures[f"kills {how}"] += 1
            if code != -signal.SIGKILL:
                misses.append(f"trial {number}, {name}: ended with {code} instead of being killed")
        if hits:
            code = child(task)
            wrong = difference(place, reference) if code == 0 else f"exit code {code}"
            figures["runs killed"] += 1
            figures["identical"] += not wrong
            if wrong:
                misses.append(f"trial {number}, {name}, killed {hits} times: {wrong}")
        shutil.rmtree(place, ignore_errors=True)
        number += 1
    return figures, misses


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def dying_workers(folder, seeds, deaths):
    """A table of two initializations, made while workers are killed, beside the one made in peace."""
    # Long enough for workers to be at work still when the first of their results are written, and to go on from there.
    jobs = plan("xor", ["random+ep", "lecun"], seeds, {"iterations": 1000, "checkpoint_every": 100, "threads": 1})
    peaceful = comparison_json(compare(jobs, folder / "peaceful", Here))
    rng = np.random.default_rng(seeds)
    moments = set(rng.choice(len(jobs) - 4, deaths, replace=False).tolist())
    figures, misses, finished = Counter(), [], []

    def strike(job, result):
        if len(finished) in moments:
            time.sleep(rng.uniform(0, 0.05))
            if workers := multiprocessing.active_children():
                one_of(workers, rng).kill()
                figures["workers killed"] += 1
        finished.append(job)

    struck = comparison_json(compare(jobs, folder / "struck", partial(processes, 2), finished=strike))
    kept = comparison_json(compare(jobs, folder / "struck", Here))
    figures["runs"] = len(finished)
    for table in (struck, kept):
        if untimed(table) != untimed(peaceful):
            misses.append(f"another table: {table}")
    if len(finished) != len(jobs) or set(finished) != set(jobs):
        misses.append(f"{len(finished)} runs were reported, {len(jobs)} asked for")
    if {path.name for path in (folder / "struck").iterdir()} != {job.folder for job in jobs}:
        misses.append("the folder holds other runs, or halves of them")
    return figures, misses


def untimed(value):
    if isinstance(value, dict):
        return {key: untimed(inner) for key, inner in value.items() if key != "seconds"}
    return [untimed(inner) for inner in value] if isinstance(value, list) else value
