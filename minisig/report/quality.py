"""Is the model good? In words and tables, for a terminal and for the report."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from struct import pack
from typing import Any
from zlib import compress, crc32

from minisig.losses import metric
from minisig.report.charts import View, importance_chart, looked_chart, residuals_chart
from minisig.report.tables import Table, cropped, number
from minisig.report.tables import columns as in_columns

MAX_SHOWN = 12  # classes on a terminal
MAX_ROWS = 30  # columns of a table in the report


@dataclass(frozen=True)
class QualityPart:
    """What a report says of a model's quality."""

    sentences: Sequence[str]
    tables: Mapping[str, Table]  # by their captions
    images: Sequence[tuple[str, str]]  # a picture as an address, and a caption
    views: Sequence[View]


def quality_part(summary: Mapping[str, Any]) -> QualityPart | None:
    """Of a run's summary, if it has anything to say of that."""
    found = summary.get("quality")
    if not found:
        return None
    tables, views = {}, []
    if found.get("confusion"):
        tables = {"Classes": per_class_table(found), "Which class was taken for which": confusion_table(found)}
    mistakes, size = found.get("mistakes", ()), found.get("image")
    images = [
        (png(one["image"], *size), f"{one['class']} taken for {one['answer']}, {_percent(one['p'])}")
        for one in mistakes
        if size and one.get("image")
    ]
    if mistakes and not images:
        tables["The most confident mistakes, by their row in the data"] = mistakes_table(found)
    if residuals := found.get("residuals"):
        chart = residuals_chart(residuals["target"], residuals["prediction"])
        pairs = zip(residuals["target"], residuals["prediction"], strict=True)
        rows = [[number(t), number(p), number(t - p)] for t, p in pairs]
        views.append(
            View("residuals", "Predictions", chart, Table(["target", "prediction", "residual"], rows[:MAX_ROWS]))
        )
    if looked := found.get("looked"):
        chart = looked_chart(looked["tokens"], looked["gradient"])
        rows = [
            [f"{i}", repr(token), number(norm)]
            for i, (token, norm) in enumerate(zip(looked["tokens"], looked["gradient"], strict=True), 1)
        ]
        title = "What the last guess looked at: the gradient of its loss, token by token"
        views.append(View("looked", title, chart, Table(["step", "token", "gradient norm"], rows), ("y",)))
    if rises := found.get("importance"):
        top = dict(list(rises.items())[:MAX_ROWS])
        views.append(View("importance", "Importance of the columns", importance_chart(top), importance_table(found)))
    said = quality_text(summary, columns=False)[bool(verdict(summary)) :]  # the verdict stands at the top of the page
    return QualityPart([_sentence(line) for line in said], tables, images, views)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def png(pixels: str, height: int, width: int) -> str:
    """A grey picture as an address that needs no file; the pixels are bytes in base64."""
    grey = b64decode(pixels)
    lines = b"".join(b"\0" + grey[row * width : (row + 1) * width] for row in range(height))
    parts = [(b"IHDR", pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", compress(lines)), (b"IEND", b"")]
    chunks = b"".join(pack(">I", len(body)) + kind + body + pack(">I", crc32(kind + body)) for kind, body in parts)
    return "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def verdict(summary: Mapping[str, Any]) -> str:
    """Whether it has learned anything, in a sentence; "" where nothing is known to compare with."""
    found = summary.get("quality") or summary
    guess, rows = found.get("guessing"), found.get("rows")
    if guess is None or not rows:
        return ""
    if (r2 := summary.get("test_r2")) is not None:
        if r2 <= 0:
            return f"no better than always answering the mean (rmse {guess:.4g})"
        if r2 < 0.1:
            return f"hardly better than always answering the mean (rmse {guess:.4g}): {r2:.0%} of the variance"
        return f"{r2:.0%} of the target's variance is explained; always answering the mean would have rmse {guess:.4g}"
    error = summary.get("test_error")
    if error is None:
        return ""
    usual = f"always answering {found['usual']!r}" if "usual" in found else "always giving the most frequent answer"
    spread = 100 * sqrt(max(guess / 100 * (1 - guess / 100), 0) / rows)
    if error >= guess:
        return f"no better than {usual}, with {guess:.2f} %"
    if error > guess - 2 * spread:
        return f"not clearly better than {usual}, with {guess:.2f} %: {rows:,} test rows do not tell them apart"
    return f"{usual} would have an error of {guess:.2f} %"


def quality_text(summary: Mapping[str, Any], *, columns: bool = True) -> list[str]:
    """What the outcome of a run says of its quality."""
    found = summary.get("quality") or {}
    lines = [line] if (line := verdict(summary)) else []
    weak = [one for one in found.get("per_class", ()) if one["rows"] and not one["recall"]]
    if weak and len(found.get("classes", ())) > 1:
        named = ", ".join(repr(one["class"]) for one in weak[:5]) + (" …" if len(weak) > 5 else "")
        lines.append(f"never found: {named}")
    if columns and (rises := found.get("importance")):
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
        lines += ["", in_columns(_lines(per_class_table(found))), "", *confusion_text(found)]
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
    return [in_columns(_lines(table))]


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
