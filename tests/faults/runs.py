"""Runs of every kind, and what must be the same when they end."""

import json
import os
import signal
import sys
import time
import traceback
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np

from minisig.data import load
from minisig.errors import Interrupted, MinisigError
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.checkpoint import load_checkpoint
from minisig.training.files import read_tensors
from minisig.training.loop import Training
from minisig.training.run import resume, run
from tests.faults.disk import Disk

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


def options(name, folder):
    """The same as a command line."""
    experiment, own = settings(name, folder / "words")
    return [experiment, *(part for key, value in own.items() for part in ("--set", f"{key}={json.dumps(value)}"))]


def tables(folder):
    """Configurations of runs on data of one's own, whose summaries say how good they are."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (60, 6), dtype=np.uint8), np.arange(60) % 3
    rows = [[*row, f"kind {label}"] for row, label in zip(x.tolist(), y.tolist(), strict=True)]
    (folder / "mine.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in [[*"abcdef", "kind"], *rows]))
    np.savez(folder / "mine.npz", x_train=x.reshape(60, 2, 3), y_train=y)
    tiny = {"iterations": 3, "network.hidden": [4], **STEADY}
    return {
        "of classes": configure(str(folder / "mine.csv"), tiny),
        "of numbers": configure(str(folder / "mine.csv"), tiny | {"data.target": ["f"]}),
        "of images": configure("digits", tiny | {"data.path": str(folder / "mine.npz")}),
    }


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


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def lay(folder, files):
    """Just these files."""
    folder.mkdir(exist_ok=True)
    for name in contents(folder).keys() - files.keys():
        (folder / name).unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def go_on(config, folder):
    """What a person does with a run that has died: resume it, or start it if there is none yet."""
    return resume(folder) if (folder / "config.json").exists() else run(config, folder)


def stop_at(iteration, number=signal.SIGINT):
    """A `stop` for run() and resume(): the signal comes after so many iterations of theirs."""
    seen = iter(range(1, iteration))
    return lambda: number if next(seen, None) is None else None


@contextmanager
def signalled(number, iteration):
    """This process gets the signal during that iteration of training, and takes signals as one in a terminal does."""
    real, before = Training.step, signal.signal(signal.SIGINT, signal.default_int_handler)

    def step(self, now):
        if now == iteration:
            os.kill(os.getpid(), number)
        return real(self, now)

    try:
        with patch.object(Training, "step", step):
            yield
    finally:
        signal.signal(signal.SIGINT, before)


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
