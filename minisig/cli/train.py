"""minisig train: train one network."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minisig.cli.options import TRAINING, all_of, as_json, network_options
from minisig.cli.output import say
from minisig.cli.overrides import overrides, own_table
from minisig.cli.values import not_empty, refuse_others

if TYPE_CHECKING:
    from minisig.training.folder import RunFolder
    from minisig.training.observers import Observer


@click.command(short_help="Train a network.")
@network_options
@click.argument("more", nargs=-1, type=click.Path(), callback=not_empty, metavar="[FILE]...")
@all_of(*TRAINING)
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the training data, in place of --iterations.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of BLAS.  [default: all cores]")
@click.option("--out", type=click.Path(), callback=not_empty, help="Folder for the run.  [default: a new one in runs/]")
@click.option(
    "--resume",
    type=click.Path(),
    callback=not_empty,
    metavar="RUN",
    help="Go on with the run in this folder; with more --iterations, beyond its end.",
)
@click.option(
    "--tensorboard", is_flag=True, help="Keep a TensorBoard log in the run's folder (needs minisig[tensorboard])."
)
@as_json
@click.pass_context
def train(
    ctx: click.Context,
    /,
    experiment: str,
    more: tuple[str, ...],
    out: str | None,
    resume: str | None,
    tensorboard: bool,
    json_: bool,
    epochs: int | None,
    **options: Any,
) -> None:
    """Train a network on a table or text of your own, FILE.csv, FILE.txt or a FOLDER of .txt, or on an EXPERIMENT,
    one of these or of another installed project:

    \b
    digits, the default; xor; copy-memory; ptb, ptb-dropout
    mnist-shallow, mnist-shallow-dropout, mnist-deep, mnist-deep-augmented
    mnist-shallow-fast, mnist-shallow-dropout-fast, mnist-deep-fast: in minutes
    mnist-deep-augmented-fast: in an hour
    table: what FILE.csv stands for, with its settings fixed
    text: FILE.txt; without --data the tales in the package

    \b
    minisig train                                  eight hidden layers of sigmoids
    minisig train digits --hidden 100x100 --learning-rate 0.01
    minisig train xor --init ortho --seed 3
    minisig train mine.csv --target price          your own table
    minisig train mine.csv --hidden 3x50 --epochs 100 --lr 0.01
    minisig train mine.txt                         your own text
    minisig train one.txt two.txt three.txt        read one after the other
    minisig train mine.txt --set data.tokens=words     or characters, or bytes
    minisig train copy-memory --init ortho+ep      an RNN remembers for 100 steps
    minisig train copy-memory --set data.delay=50
    minisig train ptb --model lstm --iterations 2000
    minisig train ptb --data FOLDER                your train, valid and test.txt
    minisig train --resume runs/digits-random+ep-seed0
    minisig train --tensorboard                    then: tensorboard --logdir runs

    Options without a default have the experiment's values. Ctrl-C or a
    termination signal saves the run first; --resume goes on with it.
    """
    from minisig.cli.progress import progress
    from minisig.cli.report import report_beside
    from minisig.experiments import is_own, source_of, suited
    from minisig.jsonable import jsonable
    from minisig.report.summary import summary_text
    from minisig.training import run as runs
    from minisig.training.files import read_config
    from minisig.training.folder import RunFolder

    if resume:
        may_change = ("resume", "iterations", "backend", "tensorboard", "json_")
        refuse_others(ctx, "a run is resumed as it was configured", may_change)
        path, iterations = Path(resume), options["iterations"]
        folder = RunFolder(path)
        with progress() as display, signals() as stop:
            observers = display + _tensorboard(folder, tensorboard or (path / "tensorboard").is_dir())
            finished = folder.summary()
            summary = runs.resume(folder, iterations, observers, stop, backend=options["backend"])
        config, trained = read_config(path), summary != finished
    else:
        if epochs and options["iterations"]:
            raise click.UsageError("--epochs and --iterations say the same in two ways: give one of them.")
        experiment, options = own_table(ctx, experiment, options)
        if more and source_of(experiment) != "text":
            raise click.UsageError(f"only texts are read one after the other: leave out {' '.join(more)}.")
        options["settings"] += (f"data.more={json.dumps(more)}",) * bool(more)
        config, data = suited(experiment, overrides(experiment, **options), epochs)
        name = f"{config.experiment}-{config.network.init}-seed{config.seed}"
        folder = RunFolder(out or Path("runs") / name, numbered=not out)
        if is_own(experiment) and not json_:
            say("\n".join([*data.about, ""]), err=True)
        with progress() as display, signals() as stop:
            summary = runs.run(config, folder, display + _tensorboard(folder, tensorboard), stop, data=data)
        path, trained = folder.path, True
    before = "report.html" if (path / "report.html").is_file() else None
    report = report_beside(path) if trained else before
    say(json.dumps(jsonable(summary)) if json_ else summary_text(summary, config, path, report))


def _tensorboard(folder: "RunFolder", wanted: bool) -> "list[Observer]":
    """What keeps a TensorBoard log in the run's folder, if that is wanted."""
    if not wanted:
        return []
    from minisig.bridges.tensorboard import TensorBoard

    return [TensorBoard(folder)]


@contextmanager
def signals() -> Iterator[Callable[[], int | None]]:
    """A function that gives the number of the first signal to end that came; a second one ends at once."""
    caught: list[int] = []
    before: dict[int, Any] = {}

    def note(number: int, frame: Any) -> None:
        caught.append(number)
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    if threading.current_thread() is threading.main_thread():
        before |= {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: caught[0] if caught else None
    finally:
        restore()
