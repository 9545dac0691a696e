"""Writes that fail: every one in turn, on disks that are really too small, in files that may not grow."""

import os
import re
import resource
import shutil
import subprocess
from collections import Counter
from functools import partial
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace

from minisig.errors import CannotWrite
from minisig.training.run import run
from tests.faults.disk import FULL, Disk
from tests.faults.runs import (
    KINDS,
    begun,
    child,
    contents,
    difference,
    go_on,
    kind,
    lay,
    outcome,
    standing,
    undisturbed,
)


def complaint(task):
    """What is wrong with how this ended on a disk that is full."""
    try:
        task()
    except CannotWrite as error:
        good = re.fullmatch(rf"cannot write to .*: .*{FULL}.*", str(error))
        return "" if good else f"said {error!r}"
    except Exception as error:
        return repr(error)
    return "nothing was said"


def aftermath(config, folder, reference):
    """What is wrong with a run after its disk has failed and is whole again."""
    try:
        standing(config, folder)
        go_on(config, folder)
    except Exception as error:
        return repr(error)
    return difference(folder, reference)


def failing_writes(folder, names=tuple(KINDS), iterations=20):
    """Every call that writes fails once and tears once, in runs from their beginning and in resumed ones."""
    figures, misses = Counter(), []
    for name in names:
        config = replace(kind(name, folder / "words"), iterations=iterations)
        with patch.object(os, "fsync", lambda file: None):
            run(config, folder / name)
            reference = outcome(folder / name)
            for stopped in (0, iterations // 2):
                start = contents(begun(config, folder / f"{name}-{stopped}", stopped)) if stopped else {}
                place = folder / f"{name}-from-{stopped}"
                lay(place, start)
                whole = Disk(place)
                whole.under(partial(go_on, config, place))
                for n, call in enumerate(whole.calls, 1):
                    for torn in [False, True] if call in ("write", "save") else [False]:
                        shutil.rmtree(place)
                        lay(place, start)
                        disk = Disk(place, n, torn=torn)
                        said = complaint(partial(disk.under, partial(go_on, config, place)))
                        left = ", ".join(path.name for path in place.glob(".*.tmp"))
                        wrong = said or left or aftermath(config, place, reference)
                        figures["torn" if torn else "failed"] += 1
                        figures["identical"] += not wrong
                        if wrong:
                            misses.append(f"{name} from {stopped}, {call}, call {n}, torn {torn}: {wrong}")
    return figures, misses


def small_disks(folder, names):
    """The same on real file systems of every size, and number of files, up to what a run needs; only root makes any."""
    figures, misses = Counter(), []
    place = folder / "small"
    place.mkdir()
    for name in names:
        config = kind(name, folder / "words")
        run(config, folder / name)
        reference = outcome(folder / name)
        for amount in ("size={}k", "nr_inodes={}"):
            for n in range(2, 100):
                limit = amount.format(4 * n - 4 if "size" in amount else n)  # pages; or files beside the folder
                if mount("-t", "tmpfs", "-o", limit, "tmpfs", place):
                    return figures, misses
                try:
                    said = complaint(partial(run, config, place / "run"))
                    if said == "nothing was said":
                        break
                    mount("-o", "remount,size=4m,nr_inodes=100", place)
                    wrong = said or aftermath(config, place / "run", reference)
                    figures["failed"] += 1
                    figures["identical"] += not wrong
                    if wrong:
                        misses.append(f"{name} on a disk with {limit}: {wrong}")
                finally:
                    subprocess.run(["umount", place], check=True)
    return figures, misses


def mount(*args):
    return 1 if os.geteuid() else subprocess.run(["mount", *args], check=False, capture_output=True).returncode


def short_files(folder, names, steps):
    """The same where no file may have more than so many bytes: writes that are really torn, for everybody."""
    figures, misses = Counter(), []
    for name in names:
        config = kind(name, folder / "words")
        reference, _, _ = undisturbed(config, folder / name)
        longest = max(path.stat().st_size for path in (folder / name).iterdir())
        for most in np.linspace(0, longest - 1, steps).astype(int).tolist():
            place = folder / f"{name}-{most}"

            def limited(config=config, place=place, most=most):
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
                run(config, place)

            code = child(limited)
            wrong = f"exit code {code}" if code != 1 else aftermath(config, place, reference)
            figures["torn"] += 1
            figures["identical"] += not wrong
            if wrong:
                misses.append(f"{name} with files of {most} bytes: {wrong}")
    return figures, misses
