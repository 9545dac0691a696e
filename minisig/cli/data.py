"""minisig data: public data sets, listed, fetched, verified and shown."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from minisig.cli.completion import one_of
from minisig.cli.options import DATA, FROM_CONFIG, OWN_TABLE, SEED, all_of, as_json, experiment_argument
from minisig.cli.output import say, watched
from minisig.cli.overrides import overrides, own_table
from minisig.cli.values import InOrder, in_a_folder, not_empty


def _names() -> list[str]:
    from minisig.data.public import PUBLIC

    return list(PUBLIC)


def _chosen(names: tuple[str, ...]) -> list[Any]:
    from minisig.data.public import PUBLIC
    from minisig.errors import require_known

    for name in names:
        require_known("public data set", name, PUBLIC)
    return [PUBLIC[name] for name in dict.fromkeys(names) or PUBLIC]


@click.group(cls=InOrder, short_help="Public data: list, fetch, verify, show.")
def data() -> None:
    """Public data sets: list, fetch, verify; and show what a network is trained on.

    They are kept in $MINISIG_DATA, if that is set, else in ~/.cache/minisig.

    \b
    minisig data fetch mnist                       download, checked by hash
    minisig data fetch ptb --from ~/Downloads      files you already have
    minisig data verify
    minisig data show mnist-deep-augmented         distorted digits as a picture
    """


@data.command("list", short_help="What there is, and what is here.")
@as_json
def list_(json_: bool) -> None:
    """The public data sets, and whether they are here.

    \b
    minisig data list
    minisig data list --json
    """
    from minisig.data.folder import complete_folder

    rows = []
    for public in _chosen(()):
        folder = complete_folder(public)
        size = sum(file.download_size for file in public.files)
        rows.append(
            {"name": public.name, "about": public.about, "bytes": size, "folder": str(folder) if folder else None}
        )
    if json_:
        click.echo(json.dumps({"data": rows}))
        return
    for row in rows:
        place = row["folder"] or f"not here: minisig data fetch {row['name']}"
        click.echo(f"{row['name']:<8}{row['bytes'] / 1e6:>6.1f} MB  {place}\n        {row['about']}")


def _addresses(ctx: click.Context, param: click.Parameter, mirrors: tuple[str, ...]) -> tuple[str, ...]:
    """Callback that refuses what no download could come from."""
    for mirror in mirrors:
        if not re.match(r"https?://[^/\s]", mirror, re.IGNORECASE):
            raise click.BadParameter(f"{mirror!r}: expected an address that starts with http:// or https://.")
    return mirrors


@data.command(short_help="Download, or take files that you have.")
@click.argument("names", nargs=-1, required=True, shell_complete=one_of(_names), metavar="NAME...")
@click.option(
    "--from",
    "source",
    type=click.Path(),
    callback=not_empty,
    help="A folder, .zip or .tar archive that has the files; nothing is downloaded.",
)
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="URL",
    callback=_addresses,
    help="Download from here instead. Repeatable.",
)
def fetch(names: tuple[str, ...], source: str | None, mirrors: tuple[str, ...]) -> None:
    """Download public data sets, or bring them from files on this machine; every file is checked by its hash.

    Downloading needs minisig[data], --from does not.

    \b
    minisig data fetch mnist ptb
    minisig data fetch ptb --from simple-examples.tgz
    """
    from minisig.data.fetch import bring
    from minisig.data.fetch import fetch as download
    from minisig.data.folder import homes

    if source and mirrors:
        raise click.UsageError("--from brings files from this machine; leave out --mirror.")
    for public in _chosen(names):
        folder = homes()[0] / public.name
        if source:
            bring(public, Path(source), folder)
        else:
            click.echo(public.licence, err=True)
            with _progress() as watch:
                download(public, folder, mirrors or None, watch)
        click.echo(f"{public.name}: {len(public.files)} files as published in {folder}")


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar for every file on a terminal, nothing elsewhere."""
    if not watched():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def watch(name: str, done: int, size: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=size)
            bars.update(tasks[name], completed=done)

        yield watch


@data.command(short_help="Compare with the published hashes.")
@click.argument("names", nargs=-1, shell_complete=one_of(_names), metavar="[NAME]...")
@as_json
def verify(names: tuple[str, ...], json_: bool) -> None:
    """Compare the files of public data sets with their published hashes; those that are here, unless named.

    \b
    minisig data verify
    minisig data verify mnist --json
    """
    from minisig.data.folder import find_folder
    from minisig.errors import DataError

    rows = []
    for public in _chosen(names):
        folder = find_folder(public)
        if folder is None and not names:
            continue
        for file in public.files:
            path = file.find(folder) if folder else None
            fault = file.fault(path) if path else "missing"
            rows.append({"data": public.name, "file": path.name if path else file.name, "fault": fault})
    if json_:
        click.echo(json.dumps({"files": rows}))
    else:
        for row in rows:
            click.echo(f"{row['data']}/{row['file']}: {row['fault'] or 'as published'}")
    wrong = sorted({row["data"] for row in rows if row["fault"]})
    if wrong:
        raise DataError(f"not as published: run 'minisig data fetch {' '.join(wrong)}'")
    if not rows:
        raise DataError("no public data set is here: run 'minisig data fetch mnist'")


@data.command(short_help="How data are read, or images drawn as they are trained on.")
@all_of(experiment_argument(default="digits"), SEED, *DATA, *OWN_TABLE, *FROM_CONFIG)
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    callback=in_a_folder,
    help="Picture to write: .png, .svg or .pdf.  [default: EXPERIMENT-images.png]",
)
@as_json
@click.pass_context
def show(ctx: click.Context, /, experiment: str, out: str | None, json_: bool, **options: Any) -> None:
    """Of a table or text of your own, FILE.csv or FILE.txt, how it is read and what would be trained on. Of an
    EXPERIMENT on images draw them as they are trained on, every row one of them, distorted anew in each column, which
    needs minisig[viz].

    \b
    minisig data show mine.csv --target price
    minisig data show mine.txt --set data.tokens=words
    minisig data show mnist-deep-augmented --out digits.png
    minisig data show mnist-deep-augmented --set data.augment.alpha=80
    """
    from minisig.data import load
    from minisig.experiments import configure, is_own, suited
    from minisig.report.figures import contact_sheet, require_drawable, save

    experiment, options = own_table(ctx, experiment, options)
    if is_own(experiment):
        config, data = suited(experiment, overrides(experiment, **options))
        (_show_table if data.rows else _show_text)(config, data, json_)
        return
    config = configure(experiment, overrides(experiment, **options))
    path = Path(out or f"{config.experiment}-images.png")
    require_drawable(path)
    save(contact_sheet(config, load(config.data, seed=config.seed)), path)
    click.echo(f"saved as {path}")


def _show_text(config: Any, data: Any, json_: bool) -> None:
    from minisig.data.dataset import PARTS
    from minisig.jsonable import jsonable
    from minisig.report.tables import network

    if json_:
        sizes = {part: len(getattr(data, part).tokens) - 1 for part in PARTS}
        found = {"tokens": data.prepared.tokens, "different": data.classes, "sizes": sizes}
        click.echo(json.dumps(jsonable(found | {"baselines": data.baselines, "about": [*data.about]})))
        return
    say("\n".join([*data.about, "", network(config)]))


def _show_table(config: Any, data: Any, json_: bool) -> None:
    """What was read and guessed, column by column."""
    import msgspec

    from minisig.data.prepared import Numeric
    from minisig.jsonable import jsonable
    from minisig.report.tables import columns, cropped, network

    table, baselines = data.prepared, data.baselines
    rows = [("column", "kind", "inputs", "what stands for it")]
    for column in table.columns:
        if isinstance(column, Numeric):
            what = f"(v − {column.centre:.4g}) / {column.scale:.4g}, a missing one {column.fill:.4g}"
        else:
            what = cropped(", ".join(column.labels), 60)
        rows.append(
            (cropped(column.name, 40), "numbers" if column.width == 1 else "categories", str(column.width), what)
        )
    if json_:
        found = {
            "rows": {part: len(places) for part, places in data.rows.items()},
            "columns": [msgspec.to_builtins(column) for column in table.columns],
            "left_out": table.left_out,
            "target": msgspec.to_builtins(table.target),
            "baselines": baselines,
            "about": [*data.about],
        }
        click.echo(json.dumps(jsonable(found)))
        return
    say("\n".join([*data.about, "", columns(rows), "", network(config)]))
