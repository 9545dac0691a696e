"""minisig train: train one network."""

import json
from pathlib import Path
from typing import Any

import click

from minisig.cli.options import Hidden, as_json, finite, not_empty, one_of

# The configuration's name for each option.
SETTINGS = {
    "init": "network.init",
    "hidden": "network.hidden",
    "activation": "network.activation",
    "iterations": "iterations",
    "batch_size": "batch_size",
    "learning_rate": "optimizer.learning_rate",
    "seed": "seed",
    "data": "data.path",
    "backend": "backend",
    "dtype": "dtype",
}


def _experiments() -> list[str]:
    from minisig.experiments import EXPERIMENTS

    return list(EXPERIMENTS)


def _inits() -> list[str]:
    from minisig.initializers import INITIALIZERS

    return list(INITIALIZERS)


@click.command()
@click.argument("experiment", default="digits", shell_complete=one_of(_experiments))
@click.option(
    "--init",
    default="random+ep",
    show_default=True,
    shell_complete=one_of(_inits),
    help="random+ep, ortho+ep, lsuv, ortho, glorot, lecun; or random+exact, ortho+exact (true entropy).",
)
@click.option("--hidden", type=Hidden(), help="Hidden layers: 800, or 2500,2000,1500, or 8x100 for eight of 100.")
@click.option("--activation", default=None, help="sigmoid or scaled-tanh.")
@click.option("--iterations", type=click.IntRange(min=1), help="Updates to make.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Examples in an update.")
@click.option(
    "--learning-rate", type=click.FloatRange(min=0, min_open=True), callback=finite, help="Step size of the optimizer."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same bits.")
@click.option(
    "--data", type=click.Path(), callback=not_empty, help="Your own .npz or .csv in place of the experiment's data."
)
@click.option("--backend", default="numpy", show_default=True, help="Array library: numpy.")
@click.option("--dtype", default="float32", show_default=True, help="float32 or float64.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=not_empty,
    help="Folder for the run.  [default: a new one in runs/]",
)
@as_json
def train(experiment: str, out: Path | None, json_: bool, **options: Any) -> None:
    """Train a network on EXPERIMENT: digits (the default) or xor.

    \b
    minisig train                                  eight hidden layers of sigmoids
    minisig train digits --hidden 100x100          a hundred of them
    minisig train xor --init ortho --seed 3
    minisig train --data mine.csv --hidden 3x50    your own data

    Options left out have the experiment's values.
    """
    from minisig.cli.progress import progress
    from minisig.experiments import configure
    from minisig.report.tables import summary_text
    from minisig.training.folder import RunFolder
    from minisig.training.run import run

    given = {SETTINGS[option]: value for option, value in options.items() if value is not None}
    config = configure(experiment, given)
    name = f"{experiment}-{config.network.init}-seed{config.seed}"
    folder = RunFolder(out) if out else RunFolder(Path("runs") / name, numbered=True)
    with progress(config) as watch:
        summary = run(config, folder, watch)
    if json_:
        click.echo(json.dumps(summary))
    else:
        click.echo(summary_text(summary, config, folder.path))
