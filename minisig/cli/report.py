"""minisig report: what happened, as one HTML file."""

import json
from functools import partial
from pathlib import Path

import click

from minisig.cli.options import as_json
from minisig.cli.output import say
from minisig.cli.values import in_a_folder, not_empty


@click.command(short_help="What happened, as one HTML file.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(), callback=not_empty, metavar="PATH...")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    callback=in_a_folder,
    help="File to write.  [default: report.html in PATH, or here if there are several]",
)
@as_json
def report(paths: tuple[str, ...], out: str | None, json_: bool) -> None:
    """Curves, gradients and tables of runs or comparisons as one HTML file, which needs no network.

    PATH is the folder of a run, of a comparison, or one that has them in it.
    A report needs minisig[viz]; where that is installed `minisig train` and
    `minisig compare` write one by themselves.

    \b
    minisig report runs/digits-random+ep-seed0
    minisig report runs/compare-digits
    minisig report runs --out all.html
    """
    from minisig.cli.repeat import commands
    from minisig.report.page import write_report

    folders = [Path(path) for path in paths]
    path = Path(out) if out else (folders[0] if len(folders) == 1 else Path()) / "report.html"
    runs = write_report(folders, path, commands, partial(say, err=True))
    click.echo(json.dumps({"report": str(path), "runs": runs}) if json_ else str(path))


def report_beside(folder: Path) -> str | None:
    """The report's name in the folder of what has just been made; None if it cannot be, which is no reason to fail."""
    from minisig.cli.repeat import commands
    from minisig.report.page import can_report, write_report

    if not can_report():
        return None
    path = folder / "report.html"
    try:
        write_report([folder], path, commands, partial(say, err=True))
    except Exception as error:  # whatever it is, the run is worth more than its report
        say(f"no report was written: {error}", err=True)
        return None
    return path.name
