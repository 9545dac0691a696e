"""Is the model good? In words and tables, for a terminal and for the report."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from minisig.losses import metric
from minisig.report.tables import Table, columns, cropped, number

MAX_SHOWN = 12  # classes, or columns of a table, on a terminal


def verdict(summary: Mapping[str, Any]) -> str:
    """Whether it has learned anything, in a sentence; "" where nothing is known to compare with."""
    found = summary.get("quality") or summary
    guess, rows = found.get("guessing"), found.get("rows")
    if guess is None or not rows:
        return ""
    if (r2 := summary.get("test_r2")) is not None:
        usual = f"always answering the mean (rmse {guess:.4g})"
        if r2 <= 0:
            return f"no better than {usual}"
        return (
            f"hardly better than {usual}: it explains {r2:.0%} of the variance"
            if r2 < 0.1
            else (f"it explains {r2:.0%} of the target's variance; {usual.replace('always', 'for comparison, always')}")
        )
    error = summary.get("test_error")
    if error is None:
        return ""
    usual = f"always answering {found['usual']!r}" if "usual" in found else "always giving the most frequent answer"
    spread = 100 * sqrt(max(guess / 100 * (1 - guess / 100), 0) / rows)
    if error >= guess:
        return f"no better than {usual} ({guess:.2f} % error)"
    if error > guess - 2 * spread:
        return f"not clearly better than {usual} ({guess:.2f} % error): {rows:,} test rows do not tell them apart"
    return f"{usual} has {guess:.2f} % error"


def quality_text(summary: Mapping[str, Any]) -> list[str]:
    """What the outcome of a run says of its quality."""
    found = summary.get("quality") or {}
    lines = [line] if (line := verdict(summary)) else []
    weak = [one for one in found.get("per_class", ()) if one["rows"] and not one["recall"]]
    if weak and len(found.get("classes", ())) > 1:
        named = ", ".join(repr(one["class"]) for one in weak[:5]) + (" …" if len(weak) > 5 else "")
        lines.append(f"never found: {named}")
    if rises := found.get("importance"):
        top = [f"{name} {rise:+.3f}" for name, rise in list(rises.items())[:5]]
        lines.append(f"most important columns (rise of the loss when shuffled): {', '.join(top)}")
    return lines


def tested_text(found: Mapping[str, Any]) -> str:
    """What `minisig test` has found."""
    shown = {name.removeprefix("test_"): value for name, value in found.items() if name.startswith("test_")}
    told = [f"{name} {metric(name).shown(value)}" for name, value in shown.items() if name != "loss"]
    told.append(f"loss {metric('loss').shown(shown['loss'])}")
    lines = [f"{found['rows']:,} rows: {', '.join(told)}"]
    if "guessing" in found and (line := verdict(found)):
        lines.append(line)
    if "confusion" in found:
        lines += ["", columns(_lines(per_class_table(found))), "", *confusion_text(found)]
    return "\n".join(lines)


def confusion_text(found: Mapping[str, Any]) -> list[str]:
    table = confusion_table(found)
    if len(found["classes"]) > MAX_SHOWN:
        worst = [
            (n, str(found["classes"][i]), str(found["classes"][j]))
            for i, row in enumerate(found["confusion"])
            for j, n in enumerate(row)
            if i != j and n
        ]
        worst.sort(reverse=True)
        return [
            f"{n:,} of class {cropped(truth, 20)} taken for {cropped(answer, 20)}" for n, truth, answer in worst[:10]
        ]
    return [columns(_lines(table))]


def per_class_table(found: Mapping[str, Any]) -> Table:
    return Table(
        ["class", "rows", "precision", "recall"],
        [
            [cropped(str(one["class"]), 30), f"{one['rows']:,}", _percent(one["precision"]), _percent(one["recall"])]
            for one in found["per_class"]
        ],
    )


def confusion_table(found: Mapping[str, Any]) -> Table:
    names = [cropped(str(name), 20) for name in found["classes"]]
    rows = [[name, *map(str, row)] for name, row in zip(names, found["confusion"], strict=True)]
    return Table(["class \\ answer", *names], rows)


def mistakes_table(found: Mapping[str, Any]) -> Table:
    rows = [[f"{one['row']:,}", str(one["class"]), str(one["answer"]), _percent(one["p"])] for one in found["mistakes"]]
    return Table(["row", "class", "answer", "probability"], rows)


def importance_table(found: Mapping[str, Any]) -> Table:
    return Table(
        ["column", "rise of the loss"],
        [[cropped(name, 60), number(rise)] for name, rise in found["importance"].items()],
    )


def _lines(table: Table) -> Sequence[Sequence[str]]:
    return [table.head, *table.rows]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
