"""A comparison as a table: for a terminal, as Markdown, as CSV, as JSON."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from minisig.experiments.compare import Comparison, Row
from minisig.report.summary import BASELINES
from minisig.report.tables import columns, network

UNITS = {"test_error": "test error %", "test_perplexity": "test perplexity"}


def comparison_text(comparison: Comparison) -> str:
    config = comparison.config
    seeds = f"{comparison.seeds} seeds" if comparison.seeds > 1 else "one seed"
    lines = [
        network(config, init=False),
        f"{UNITS[comparison.metric]}, mean ± deviation over {seeds} of {config.iterations:,} iterations",
        "",
        columns([("", "here", "paper", "difference"), *cells(comparison.rows)]),
    ]
    if comparison.baselines:
        lines += ["", *(f"{BASELINES.get(name, name)} {value:.4g}" for name, value in comparison.baselines.items())]
    for row in comparison.rows:
        lines += [f"failed: {row.name}, seed {seed}: {error}" for seed, error in row.failures.items()]
    return "\n".join(lines)


def comparison_markdown(comparison: Comparison) -> str:
    lines = [f"| {UNITS[comparison.metric]} | here | paper | difference |", "| --- | --- | --- | --- |"]
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
                "seconds": [result.summary["seconds"] for result in row.results],
                "paper": row.paper[0] if row.paper else None,
                "paper_std": row.paper[1] if row.paper else None,
                "difference": row.difference,
                "failed": {str(seed): str(error) for seed, error in row.failures.items()},
            }
            for row in comparison.rows
        ],
    }


def cells(rows: Sequence[Row]) -> list[tuple[str, str, str, str]]:
    """Every row's name, mean ± deviation here, the paper's, and the difference, all with the same digits."""
    sizes = [row.paper[0] if row.paper else row.mean for row in rows]
    smallest = min((size for size in sizes if size is not None), default=0.0)  # the one that needs the most
    return [_cells(row, 2 if row.metric == "test_error" else 3 if smallest < 10 else 1) for row in rows]


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
