"""A comparison as a table: for a terminal, as Markdown, as CSV, as JSON."""

import csv
from collections.abc import Sequence
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from minisig.errors import DataError
from minisig.experiments.compare import Comparison, Row
from minisig.report.labels import in_percent, label
from minisig.report.summary import BASELINES
from minisig.report.tables import columns, network
from minisig.training.files import read_file


def comparison_text(comparison: Comparison) -> str:
    config = comparison.config
    seeds = f"{comparison.seeds} seeds" if comparison.seeds > 1 else "one seed"
    lines = [
        network(config, init=False),
        f"{label(comparison.metric)}, mean ± standard deviation over {seeds} of {config.iterations:,} iterations",
        "",
        columns([("", "here", "paper", "difference"), *cells(comparison.rows)]),
    ]
    if comparison.baselines:
        lines += ["", *(f"{BASELINES.get(name, name)} {value:.4g}" for name, value in comparison.baselines.items())]
    for row in comparison.rows:
        lines += [f"failed: {row.name}, seed {seed}: {error}" for seed, error in row.failures.items()]
    return "\n".join(lines)


def comparison_markdown(comparison: Comparison) -> str:
    lines = [f"| {label(comparison.metric)} | here | paper | difference |", "| --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(row) + " |" for row in cells(comparison.rows)]
    lines += [f"| {BASELINES.get(name, name)} | {value:.4g} | – | – |" for name, value in comparison.baselines.items()]
    return "\n".join(lines)


def comparison_csv(comparison: Comparison) -> str:
    """A line for every run."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["experiment", "init", "seed", comparison.metric, "seconds"])
    for row in comparison.rows:
        for result, value in zip(row.results, row.values, strict=True):
            seed, seconds = result.job.config.seed, result.summary["seconds"]
            writer.writerow([comparison.config.experiment, row.name, seed, repr(value), seconds])
    return text.getvalue().rstrip("\n")


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "identity": comparison.identity,
        "experiment": comparison.config.experiment,
        "metric": comparison.metric,
        "iterations": comparison.config.iterations,
        "seeds": comparison.seeds,
        "baselines": dict(comparison.baselines),
        "rows": [
            {
                "init": row.name,
                "mean": row.mean,
                "std": row.std,
                "values": row.values,
                "runs": [result.job.folder for result in row.results],
                "seconds": [result.summary["seconds"] for result in row.results],
                "paper": row.paper[0] if row.paper else None,
                "paper_std": row.paper[1] if row.paper else None,
                "difference": row.difference,
                "failed": {str(seed): str(error) for seed, error in row.failures.items()},
            }
            for row in comparison.rows
        ],
    }


class Identity(msgspec.Struct, frozen=True):
    identity: str = ""


def table_suffix(folder: Path, identity: str) -> str:
    """What follows in the names of a comparison's tables, "" or -2 or -3 …, where others may have theirs."""
    for number in count(1):
        suffix = f"-{number}" if number > 1 else ""
        path = folder / f"comparison{suffix}.json"
        if not path.is_file() or _identity(path) == identity:
            break
    return suffix


def _identity(path: Path) -> str | None:
    try:
        return msgspec.json.decode(read_file(path), type=Identity).identity
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, DataError):
        return None


def cells(rows: Sequence[Row]) -> list[tuple[str, str, str, str]]:
    """Every row's name, mean ± standard deviation here, the paper's, and the difference, all with the same digits."""
    sizes = [row.paper[0] if row.paper else row.mean for row in rows]
    smallest = min((size for size in sizes if size is not None), default=0.0)  # the one that needs the most
    return [_cells(row, 2 if in_percent(row.metric) else 3 if smallest < 10 else 1) for row in rows]


def _cells(row: Row, digits: int) -> tuple[str, str, str, str]:
    here = "–" if row.mean is None else f"{row.mean:.{digits}f}"
    if row.std is not None:
        here += f" ± {row.std:.{digits}f}"
    paper, difference = "–", "–"
    if row.paper:
        mean, std = row.paper
        paper = f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")
    if row.difference is not None:
        difference = f"{row.difference:+.{digits}f}".replace("-", "−")
    return row.name, here, paper, difference
