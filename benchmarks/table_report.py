"""What benchmarks/tables.py measured, as rows of text."""

from collections.abc import Mapping
from math import floor, log10, sqrt
from statistics import mean, stdev
from typing import Any, NamedTuple

PEERS = ("defaults", "converged", "early stopping")


class Beside(NamedTuple):
    """Ours beside the best peer: the mean difference, below 0 where ours is better, and its standard error."""

    peer: str
    difference: float
    error: float
    spread: float  # the larger standard deviation of the two over the splits

    @property
    def worse(self) -> bool:
        """By more than the splits differ from each other; the standard error, in the table, tells finer differences."""
        return self.difference > self.spread


def beside(row: Mapping[str, Any]) -> Beside:
    results = row["results"]
    best = min(PEERS, key=lambda peer: mean(results[peer]))
    differences = [own - other for own, other in zip(results["minisig"], results[best], strict=True)]
    spread = max(stdev(results[who]) for who in ("minisig", best))
    return Beside(best, mean(differences), stdev(differences) / sqrt(len(differences)), spread)


def result_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """A line for every table; the first is the head."""
    lines = [["table", "rows", "", "guessing", "minisig", *PEERS, "minisig − best of these"]]
    for row in rows:
        digits = 2 if row["metric"] == "test_error" else max(0, 3 - floor(log10(mean(row["guessing"]))))
        cells = [
            f"{mean(values):,.{digits}f} ± {stdev(values):,.{digits}f}"
            for values in (row["results"][who] for who in ("minisig", *PEERS))
        ]
        _, difference, error, _ = beside(row)
        what = "error %" if row["metric"] == "test_error" else "RMSE"
        guess = f"{mean(row['guessing']):,.{digits}f}"
        compared = f"{difference:+,.{digits}f} ± {error:,.{digits}f}".replace("-", "−")
        lines.append([row["table"], f"{row['rows']:,}", what, guess, *cells, compared])
    return lines
