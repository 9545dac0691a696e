"""minisig train: train one network."""

import json
from pathlib import Path
from typing import Any

import click

from minisig.cli.options import TRAINING, all_of, as_json, network_options, not_empty, overrides


@click.command()
@network_options
@all_of(*TRAINING)
@click.option("--threads", type=click.IntRange(min=1), help="Of BLAS.  [default: all cores]")
@click.option("--out", type=click.Path(), callback=not_empty, help="Folder for the run.  [default: a new one in runs/]")
@as_json
def train(experiment: str, out: str | None, json_: bool, **options: Any) -> None:
    """Train a network on EXPERIMENT: digits (the default), xor, mnist-shallow, mnist-shallow-dropout, mnist-deep,
    mnist-deep-augmented, copy-memory, ptb or ptb-dropout.

    \b
    minisig train                                  eight hidden layers of sigmoids
    minisig train digits --hidden 100x100          a hundred of them
    minisig train xor --init ortho --seed 3
    minisig train --data mine.csv --hidden 3x50    your own data
    minisig train copy-memory --init ortho+ep      an RNN remembers for 100 steps
    minisig train copy-memory --set data.delay=50
    minisig train ptb --model lstm --iterations 2000
    minisig train ptb --data FOLDER                your train, valid and test.txt

    Options without a default have the experiment's values.
    """
    from minisig.cli.progress import progress
    from minisig.experiments import configure
    from minisig.report.summary import summary_text
    from minisig.training.folder import RunFolder
    from minisig.training.run import run

    config = configure(experiment, overrides(experiment, **options))
    name = f"{experiment}-{config.network.init}-seed{config.seed}"
    folder = RunFolder(Path(out)) if out else RunFolder(Path("runs") / name, numbered=True)
    with progress(config) as watch:
        summary = run(config, folder, watch)
    if json_:
        click.echo(json.dumps(summary))
    else:
        click.echo(summary_text(summary, config, folder.path))
