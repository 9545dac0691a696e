"""minisig compare: initializations over seeds, beside the paper's numbers."""

import json
import signal
from pathlib import Path
from typing import Any

import click

from minisig.cli.options import NETWORK, TRAINING, all_of, experiment_argument, plot
from minisig.cli.output import say
from minisig.cli.overrides import overrides
from minisig.cli.values import not_empty
from minisig.errors import Interrupted, MinisigError, UsageError, writing


@click.command(short_help="Initializations over seeds, beside the paper.")
@experiment_argument()
@click.option(
    "--init",
    default="all",
    show_default=True,
    help="Initializations, separated by commas; all: the paper's six, and the experiment's own rows, such as lstm.",
)
@click.option("--seeds", type=click.IntRange(min=1), help="Runs of each.  [default: 4; of xor 10]")
@all_of(*NETWORK, *TRAINING)
@click.option("--threads", type=click.IntRange(min=1), help="Threads of BLAS, in every run.  [default: 1]")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine to share the runs.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    callback=not_empty,
    help="A Dask cluster's address or scheduler file (needs minisig[cluster]).",
)
@click.option(
    "--out", type=click.Path(), callback=not_empty, help="Folder of the runs.  [default: runs/compare-EXPERIMENT]"
)
@plot
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv", "json"]),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option("--json", "form", flag_value="json", help="Short for --format json.")
def compare(
    experiment: str,
    init: str,
    seeds: int | None,
    workers: int | None,
    scheduler: str | None,
    out: str | None,
    plot: str | None,
    form: str,
    **options: Any,
) -> None:
    """Train EXPERIMENT with several initializations and seeds, and set the results beside the paper's.

    Finished runs are kept in the folder and never made again: after an
    interruption the same command goes on with those that are missing, on
    this machine from their last checkpoint, and more seeds or inits add to
    it. Every run has one BLAS thread, unless --threads says otherwise;
    --workers makes several runs at a time.

    \b
    minisig compare digits --seeds 2
    minisig compare mnist-shallow --init random+ep,lecun --iterations 5000
    minisig compare mnist-deep --iterations 2000 --workers 2
    minisig compare ptb --scheduler tcp://head:8786
    minisig compare xor --plot xor.pdf

    `minisig train -h` lists the experiments. Options without a default have
    the experiment's values.
    """
    from importlib.util import find_spec

    from minisig.cli.progress import comparison_progress
    from minisig.cli.report import report_beside
    from minisig.experiments import EXPERIMENTS, own_settings
    from minisig.experiments.compare import compare as run_comparison
    from minisig.experiments.compare import every_row, plan
    from minisig.experiments.executors import choose_executor
    from minisig.report.comparison import (
        comparison_csv,
        comparison_json,
        comparison_markdown,
        comparison_text,
        table_suffix,
    )
    from minisig.report.figures import learning_curves, require_drawable, save
    from minisig.training.files import write_file

    if workers and scheduler:
        raise click.UsageError("--workers and --scheduler exclude each other: a cluster has its own workers.")
    if plot:
        require_drawable(Path(plot))
    settings = {"threads": 1} | overrides(experiment, **options)
    experiment, settings, name = own_settings(experiment, settings)
    rows = every_row(experiment, settings.get("network.model")) if init == "all" else init.split(",")
    jobs = plan(experiment, rows, seeds or EXPERIMENTS[experiment].seeds, settings)
    folder = Path(out or f"runs/compare-{name}")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose a folder for the runs")
    executor = choose_executor(workers, scheduler, gpu=jobs[0].config.backend == "cupy")
    try:
        with comparison_progress(jobs, watching=not (workers or scheduler)) as (observers, finished):
            comparison = run_comparison(jobs, folder, executor, observers=observers, finished=finished)
    except KeyboardInterrupt:
        how = f"finished runs are kept in {folder}, the same command goes on with the others"
        raise Interrupted(f"stopped; {how}", signal.SIGINT) from None
    texts = {
        "text": comparison_text(comparison),
        "markdown": comparison_markdown(comparison),
        "csv": comparison_csv(comparison),
        "json": json.dumps(comparison_json(comparison)),
    }
    some, failures = any(row.results for row in comparison.rows), comparison.failures
    if some or form != "text" or len(set(map(str, failures))) > 1:  # what is wrong with all of them is told once, below
        say(texts[form])  # before anything is written, which the disk may refuse
    if some:
        number = table_suffix(folder, comparison.identity)
        with writing(folder):
            for name, suffix in (("json", "json"), ("csv", "csv"), ("markdown", "md")):
                write_file(folder / f"comparison{number}.{suffix}", f"{texts[name]}\n".encode())
        curves = learning_curves(comparison) if find_spec("matplotlib") else None
        drawn = curves is not None and _kept(curves, folder / f"curves{number}.png")
        report = report_beside(folder)
        if plot:
            save(curves, Path(plot))
        if form == "text":
            what = "runs, tables and curves" if drawn else "runs and tables"
            which = f" as comparison{number}, beside another comparison's" if number else ""
            click.echo(f"\n{what} are in {folder}{which}{f', see {report} there' if report else ''}")
    if failures:
        error = MinisigError(f"{len(failures)} of {len(jobs)} runs failed; the first: {failures[0]}")
        if len({failure.exit_code for failure in failures}) == 1:
            error.exit_code = failures[0].exit_code
        raise error


def _kept(curves: Any, path: Path) -> bool:
    """Whether there was room for the figure; if not, the runs are worth more than that."""
    from minisig.report.figures import save

    try:
        save(curves, path)
    except MinisigError as error:
        click.echo(f"no curves were drawn: {error}", err=True)
        return False
    return True
