"""What came out, in a sentence or two."""

from collections.abc import Mapping, Sequence

from minisig.experiments.compare import Row
from minisig.losses import metric
from minisig.report.labels import in_percent, split
from minisig.report.quality import verdict as quality_verdict
from minisig.report.runs import Run
from minisig.report.summary import gradient_flow, result, verdict


def run_verdict(run: Run) -> list[str]:
    if run.summary is None:
        done = f"{run.metrics.iterations[-1]:,} of {run.config.iterations:,} iterations"
        return [_sentence(f"not finished: the last logged iteration is {done}")]
    flow = [verdict(run.summary["layers"], run.row)] if run.config.network.model == "mlp" else []
    good = [line] if (line := quality_verdict(run.summary)) else []
    return [_sentence(text) for text in (result(run.summary), *good, *flow)]


def comparison_verdict(rows: Sequence[Row], found: Mapping[str, Sequence[Run]], failed: int) -> list[str]:
    """Which kind of network did best, by how much, and whose gradient vanished before training began."""
    measured = [row for row in rows if row.mean is not None]
    rising = bool(measured) and metric(split(measured[0].metric)[1]).rising
    ranked = sorted(measured, key=lambda row: row.mean or 0.0, reverse=rising)
    most = "highest" if rising else "lowest"
    said = []
    if len(ranked) > 1:
        best, second = ranked[:2]
        spread = max(best.std or 0.0, second.std or 0.0)
        close = 0 < abs((second.mean or 0.0) - (best.mean or 0.0)) <= spread
        if second.mean == best.mean:
            equal = [row.name for row in ranked if row.mean == best.mean]
            said.append(f"the {most} {_metric(best)} is {_mean(best)}, with {_list(equal)}")
        else:
            said.append(
                f"the {most} {_metric(best)} is that of {best.name}, {_mean(best)}, before {second.name} with "
                f"{_mean(second)}{', which the spread of the seeds does not tell apart' if close else ''}"
            )
    elif ranked:
        said.append(f"the {_metric(ranked[0])} of {ranked[0].name} is {_mean(ranked[0])}")
    for word in ("vanished", "exploded"):
        if names := [name for name, runs in found.items() if all(_flow(run) == word for run in runs)]:
            said.append(
                f"before training began the gradient had {word} on its way to the first layer with {_list(names)}"
            )
    unfinished = sum(run.summary is None for runs in found.values() for run in runs)
    if unfinished:
        said.append(f"{unfinished} of {sum(map(len, found.values()))} runs are not finished")
    if failed:
        said.append(f"{failed} runs failed" if failed > 1 else "one run failed")
    return [_sentence(text) for text in said]


def _flow(run: Run) -> str:
    if run.config.network.model != "mlp":
        return ""
    first = run.metrics.norms[0]
    return gradient_flow(float(first[0]), float(first[-1]))[1]


def _metric(row: Row) -> str:
    return row.metric.replace("_", " ")


def _mean(row: Row) -> str:
    return f"{row.mean:.2f} %" if in_percent(row.metric) else f"{row.mean:.4g}"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(text: str) -> str:
    text = text.replace("\n", "; ")
    return f"{text[:1].upper()}{text[1:]}."
