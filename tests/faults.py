"""Runs that are killed, disks that fail and files that are damaged: a few of each for test_faults.py, thousands for
benchmarks/faults.py.

Every trial is drawn by a generator that its number seeds. A part of the campaign gives its figures, and its misses in
a line each. Some fork: a process that has threads must not take these parts.
"""

import errno
import io
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback
import tracemalloc
import zlib
from collections import Counter
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from click.testing import CliRunner
from msgspec.structs import replace
from safetensors import SafetensorError
from safetensors.numpy import save

from minisig.cli import main
from minisig.cli.repeat import commands
from minisig.data import load
from minisig.errors import DataError, Diverged, Interrupted, MinisigError, UsageError
from minisig.experiments import configure
from minisig.experiments.compare import compare, curves, plan
from minisig.experiments.executors import Here, processes
from minisig.jsonable import jsonable
from minisig.report.comparison import comparison_csv, comparison_json, comparison_markdown, comparison_text
from minisig.report.page import embedded
from minisig.report.runs import read_paths
from minisig.report.sections import section
from minisig.training import files
from minisig.training.build import build_network
from minisig.training.checkpoint import load_checkpoint
from minisig.training.files import read_config, read_tensors
from minisig.training.loop import Training
from minisig.training.restore import restore
from minisig.training.run import resume, run
from tests.data.test_fuzz import HUGE, KINDS_OF_FILES, mutated, one_of

# Runs of every kind, and what must be the same when they end

TINY = {"iterations": 20, "checkpoint_every": 3, "log_every": 4, "validate_every": 6}
STEADY = {"optimizer.schedule": "constant"}
DELAY = {"data.delay": 3, "network.hidden": [6]}
STREAMS = {"data.steps": 5, "batch_size": 4}
KINDS = {
    "digits": ("digits", {"network.hidden": [8, 8], "statistics_every": 7, **STEADY}),
    "dropout": ("digits", {"network.hidden": [8, 8], "network.dropout": 0.3, "optimizer.name": "adam", **STEADY}),
    "augmented": ("digits", {"network.hidden": [8], "data.augment": {}, "select_by": "error"}),
    "xor": ("xor", {"optimizer.schedule": "linear", "optimizer.warmup": 5, "dtype": "float64"}),
    "rnn": ("copy-memory", DELAY),
    "lstm": ("copy-memory", {**DELAY, "network.model": "lstm", "optimizer.name": "momentum"}),
    "text": ("ptb", {**STREAMS, "network.hidden": [6]}),
    "text-lstm": ("ptb-dropout", {**STREAMS, "network.model": "lstm", "network.hidden": [6, 5]}),
}


def settings(name, folder):
    """Experiment and settings of this kind; its text, if it needs one, is written to `folder`."""
    experiment, own = KINDS[name]
    return experiment, TINY | own | ({"data.path": str(text(folder))} if "text" in name else {})


def kind(name, folder):
    return configure(*settings(name, folder))


def text(folder):
    """A folder of text: twelve words in no order."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for part, lines in (("train", 60), ("valid", 12), ("test", 12)):
        words = rng.integers(0, 12, (lines, 6))
        (folder / f"{part}.txt").write_text("\n".join(" ".join(f"w{word}" for word in line) for line in words))
    return folder


def outcome(folder):
    """All that a run leaves behind but the time it took."""
    tensors, metadata = read_tensors(folder / "checkpoint.safetensors")
    position = json.loads(metadata["position"])
    summary = json.loads((folder / "summary.json").read_text())
    for found in (position, summary):
        del found["seconds"]
    return {
        **{name: (folder / name).read_bytes() for name in ("best.safetensors", "metrics.jsonl", "config.json")},
        "checkpoint": {name: (w.dtype, w.shape, w.tobytes()) for name, w in tensors.items()},
        "position": position,
        "summary": summary,
        "files": sorted(path.name for path in folder.iterdir()),
    }


def difference(folder, reference):
    """What differs; nothing if the run in `folder` ended with the same bits."""
    found = outcome(folder)
    return ", ".join(name for name in reference if found[name] != reference[name])


def go_on(config, folder):
    """What a person does with a run that has died: resume it, or start it if there is none yet."""
    return resume(folder) if (folder / "config.json").exists() else run(config, folder)


def stop_at(iteration, number=signal.SIGINT):
    """A `stop` for run() and resume(): the signal comes after so many iterations of theirs."""
    seen = iter(range(1, iteration))
    return lambda: number if next(seen, None) is None else None


def begun(config, folder, iteration):
    """A run that was interrupted there."""
    try:
        run(config, folder, stop=stop_at(iteration))
    except Interrupted:
        return folder
    raise AssertionError("the run ended before it was interrupted")


def standing(config, folder):
    """The iteration of the checkpoint, which must be a good one; None if there is none yet."""
    data = load(config.data, seed=config.seed)
    position = load_checkpoint(folder, Training(build_network(config, data), data, config))
    return position and position.iteration


# Processes that are killed


def child(task, killed_after=None):
    """The exit code of a process of its own that does this, −9 if it was killed."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            task()
            code = 0
        except MinisigError as error:
            code = error.exit_code
        except BaseException:
            traceback.print_exc()
            code = 99
        finally:
            os._exit(code)
    if killed_after is not None:
        time.sleep(killed_after)
        os.kill(pid, signal.SIGKILL)  # not waited for yet: the number is still this child's
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def undisturbed(config, folder):
    """The outcome of a run, the seconds it took and the calls that it wrote with."""
    disk, started = Disk(folder), time.perf_counter()
    calls = folder.with_name(f"{folder.name}.calls")
    if child(lambda: (disk.under(partial(run, config, folder)), calls.write_text("\n".join(disk.calls)))):
        raise AssertionError(f"{folder.name} failed undisturbed")
    return outcome(folder), time.perf_counter() - started, calls.read_text().split("\n")


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


# Disks that fail

FULL = os.strerror(errno.ENOSPC)


def full():
    raise OSError(errno.ENOSPC, FULL)


class Disk:
    """Between a run and its folder: every call that writes is noted, and the n-th meets its fate, perhaps halfway.

    Nothing is flushed to the real disk, for no test can pull the plug.
    """

    def __init__(self, folder, n=0, fate=full, *, torn=False):
        self.folder, self.n, self.fate, self.torn = str(folder), n, fate, torn
        self.calls = []

    def call(self, name, half=None):
        self.calls.append(name)
        if len(self.calls) == self.n:
            if self.torn and half:
                half()
            self.fate()

    def ours(self, path):
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self.folder)

    @contextmanager
    def patched(self):
        real_open, real_os_open, real_mkdir, real_replace = io.open, os.open, os.mkdir, os.replace
        real_save = files.save_file

        def open_(path, mode="r", *args, **kwargs):
            writes = self.ours(path) and set(mode) & set("wax+")
            if writes:
                self.call("open")
            file = real_open(path, mode, *args, **kwargs)
            return File(file, self) if writes else file

        def os_open(path, flags, *args, **kwargs):
            if self.ours(path) and flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                self.call("open")
            return real_os_open(path, flags, *args, **kwargs)

        def mkdir(path, *args, **kwargs):
            if self.ours(path) and not Path(path).exists():
                self.call("mkdir")
            real_mkdir(path, *args, **kwargs)

        def replace(path, target):
            if self.ours(path):
                self.call("replace")
            real_replace(path, target)

        def save_file(arrays, path, metadata=None):
            content = save(arrays, metadata)
            try:
                self.call("save", lambda: Path(path).write_bytes(content[: len(content) // 2]))
            except OSError:  # as safetensors has it
                raise SafetensorError(f"Error while serializing: I/O error: {FULL} (os error 28)") from None
            real_save(arrays, path, metadata)

        with (
            patch.object(io, "open", open_),
            patch.object(os, "open", os_open),
            patch.object(os, "mkdir", mkdir),
            patch.object(os, "replace", replace),
            patch.object(os, "fsync", lambda file: self.call("fsync")),
            patch.object(files, "save_file", save_file),
        ):
            yield

    def under(self, task):
        with self.patched():
            return task()


class File:
    """An open file whose writes the disk hears of."""

    def __init__(self, file, disk):
        self.file, self.disk = file, disk

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, content):
        def half():
            self.file.write(content[: len(content) // 2])
            self.file.flush()

        self.disk.call("write", half)
        return self.file.write(content)

    def truncate(self, size):
        self.disk.call("truncate")
        return self.file.truncate(size)


def complaint(task):
    """What is wrong with how this ended on a disk that is full."""
    try:
        task()
    except MinisigError as error:
        good = type(error) is MinisigError and re.fullmatch(rf"cannot write to .*: .*{FULL}.*", str(error))
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


# Damaged files

MOST_MEMORY = 32 * 2**20  # while one is read and gone on with
MOST_MORE = 256 * 2**10  # kilobytes that the process may grow by, in what Python does not count
MOST_SECONDS = 120
# fmt: off
ODD = [
    None, True, False, -1, 0, 1, 2, 17, 19, 20, 21, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(10**30), 0.5, -0.0,
    1e-320, 1e308, -1e308, "", "x", "numpy", "nan", "é\0\u2028", "a\0.csv", "x" * 5000, [], [[]], [0], [1, 2], ["x"],
    {}, {"": {}}, {"loss": 0},
]
WORDS = [
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"NaN", b"-", b"1e999", b"9" * 30, b"\\u0000", b"\\ud800",
    b"\xff",
]
# fmt: on
TYPES = ["F16", "F32", "F64", "BF16", "F8_E4M3", "F8_E5M2", "F4", "C64", "I8", "I64", "U64", "BOOL", "f32", "", 3, None]
EXTENTS = [[], [0], [1], [-1, -2], [2**63, 2], [2**64, 2], [2**31, 2**33], [1.0, 2], ["2"], [[2]], None, 2, {}]
NUMBERS = [np.nan, np.inf, -np.inf, 1e30, -3e38, 1e-40, 0.0]


def strange_json(content, rng):
    """A JSON text with one or two of its values replaced, removed, or named otherwise; or with its bytes mutated."""
    if rng.random() < 0.3:
        return mutated(content, rng, WORDS)
    value = json.loads(content)
    for _ in range(rng.integers(1, 3)):
        inner = value
        while inner:
            key = one_of(list(inner) if isinstance(inner, dict) else range(len(inner)), rng)
            if isinstance(inner[key], dict | list) and rng.random() < 0.7:
                inner = inner[key]
                continue
            match rng.integers(6):
                case 0:
                    del inner[key]
                case 1 if isinstance(inner, dict):
                    inner[one_of(["", "x", "seed", "é" * 300], rng)] = inner.pop(key)
                case 2:
                    inner[key] = "HERE"
                case _:
                    inner[key] = deepcopy(one_of(ODD, rng))
            break
    depth = one_of([10, 1000, 100_000], rng)
    deep = one_of([b"[" * depth + b"]" * depth, b'{"a":' * depth + b"0" + b"}" * depth], rng)
    return json.dumps(value).encode().replace(b'"HERE"', deep, 1)


def strange_tensors(content, rng):
    """A safetensors file that is not what it says, or says what it should not."""
    length = struct.unpack("<Q", content[:8])[0]
    header, data, text, size = json.loads(content[8 : 8 + length]), content[8 + length :], None, None
    names = [name for name in header if name != "__metadata__"]
    name, other = one_of(names, rng), one_of(names, rng)
    match rng.integers(20 if "__metadata__" in header else 11):
        case 0 | 1:
            return mutated(content, rng, WORDS)
        case 2:
            return content[: int(rng.random() * len(content))]
        case 3:
            header[name]["dtype"] = one_of(TYPES, rng)
        case 4:
            header[name]["shape"] = one_of(EXTENTS, rng)
        case 5:
            header[name]["data_offsets"] = one_of([*EXTENTS, header[other]["data_offsets"]], rng)
        case 6:
            header[name], header[other] = header[other], header[name]
        case 7:
            header[one_of(["x", "", "../x", f"{name}\0"], rng)] = header.pop(name)
        case 8:  # the same name twice
            text = json.dumps(header)[:-1] + f", {json.dumps(name)}: {json.dumps(header[other])}}}"
        case 9:
            size = one_of(HUGE, rng)
        case 10 | 11 | 12:
            start, end = header[name]["data_offsets"]
            values = np.frombuffer(
                data[start:end], header[name]["dtype"].replace("F64", "f8").replace("F32", "f4")
            ).copy()
            values[one_of([0, slice(None), slice(0, None, 3)], rng)] = one_of(NUMBERS, rng)
            data = data[:start] + values.tobytes() + data[end:]
        case 13:
            header["__metadata__"] = one_of([{}, *ODD, {"position": one_of(ODD, rng)}], rng)
        case _:
            position = strange_json(header["__metadata__"]["position"].encode(), rng)
            header["__metadata__"]["position"] = position.decode(errors="replace")
    text = (text or json.dumps(header)).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def torn(content, rng):
    return content[: int(rng.random() * len(content))] if rng.random() < 0.5 else mutated(content, rng, WORDS)


def strange_line(content, rng):
    if rng.random() < 0.2:
        return torn(content, rng)
    lines = content.splitlines(keepends=True)
    number = int(rng.random() * len(lines))
    lines[number] = strange_json(lines[number], rng) + b"\n"
    return b"".join(lines)


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
        signal.alarm(MOST_SECONDS)
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
        return fate if memory < MOST_MEMORY else f"{memory >> 20} MB, and {fate}"


class Hang(BaseException):
    pass


def give_up(number, frame):
    raise Hang(f"more than {MOST_SECONDS} s")


def lay(folder, files):
    """Just these files."""
    folder.mkdir(exist_ok=True)
    for name in contents(folder).keys() - files.keys():
        (folder / name).unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def resumed(folder):
    """Comes to a good end, every number finite, and what it logged in lines of its own."""
    config = read_config(folder.path)
    if not (config.iterations <= 1000 and sum(config.network.hidden) < 500 and config.data.delay < 200):
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
        "compared metrics": Folder(compared, results, "metrics.jsonl", strange_line, table),
        "compared summary": Folder(compared, results, "summary.json", strange_json, table),
        "compared configuration": Folder(compared, results, "config.json", strange_json, table),
    }


def damaged_files(folder, count):
    """So many damaged files of every kind that runs leave behind, each met by what reads it."""
    figures, misses = Counter(), []
    signal.signal(signal.SIGALRM, give_up)
    with patch.object(os, "fsync", lambda file: None):
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
    if more > MOST_MORE:
        misses.append(f"the process grew by {more >> 10} MB")
    return figures, misses


def damaged_data(folder, times):
    """The files of test_fuzz.py, so many times as many."""
    tests = [Path(__file__).parent / "data" / "test_fuzz.py", "-k", "test_a_damaged_file"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *tests],
        env=os.environ | {"MINISIG_FUZZ": str(times)},
        capture_output=True,
        text=True,
        check=False,
    )
    figures = Counter(dict.fromkeys(KINDS_OF_FILES, 2000 * times))
    return figures, done.stdout.splitlines()[-10:] if done.returncode else []


# A comparison whose workers die


def dying_workers(folder, seeds, deaths):
    """A table of two initializations, made while workers are killed, beside the one made in peace."""
    jobs = plan("xor", ["random+ep", "lecun"], seeds, {"iterations": 60, "threads": 1})
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
