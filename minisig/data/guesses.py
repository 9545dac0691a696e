"""What the columns of a table are for: which is to be predicted, as what, and which are no inputs.

Everything can be said instead: data.target, data.task, data.ignore, data.categorical.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minisig.data.cells import is_date, shown
from minisig.data.frame import Frame, Text, most_common
from minisig.data.prepared import Class
from minisig.errors import DataError, UsageError, require_known

MAX_CLASSES = 1000
FEW_CLASSES = 10  # so many whole numbers are classes rather than amounts
ROWS_A_CLASS = 5  # on average, for a column to be taken for classes unasked
LEAST_ROWS = 10
ROW_NUMBERS = re.compile(
    r"unnamed:? ?\d*|__index_level_\d+__|index"
    r"|(row|obs|observation|case|record|sample)?[ _.-]?(id|nr|no|num|number|names?|s)?",
    re.IGNORECASE,
)
IDENTIFIER = re.compile(r"(.*[ _.-])?(id|uuid|guid|key)|.*[a-z](ID|Id|Key)")

Rows = NDArray[np.int64]


@dataclass
class Chosen:
    """What is to be predicted."""

    names: list[str]
    task: str
    classes: list[Class]
    why: dict[str, str]  # columns that could not be it


def choose(frame: Frame, wanted: Any, path: Path) -> Chosen:
    """The target that is asked for, or the last column that can be one, and the task."""
    for names in (wanted.target, wanted.ignore, wanted.categorical):
        for name in split_names(names, frame):
            if name not in frame.columns:
                require_known(f"column of {path.name}", name, list(frame.columns))
    names = split_names(wanted.target, frame)
    why: dict[str, str] = {}
    if names:
        tasks = [_task_of(frame, name, wanted, path) for name in names]
        if len(names) == 1:
            return Chosen(names, *tasks[0], why)
        if all(task == "regression" for task, _ in tasks):
            return Chosen(names, "regression", [], why)
        if all(task == "classification" and len(classes) == 2 for task, classes in tasks):
            return Chosen(names, "labels", [value for _, classes in tasks for value in classes], why)
        kinds = ", ".join(f"{shown(name)} {task}" for name, (task, _) in zip(names, tasks, strict=True))
        raise UsageError(f"{path}: several targets must all be numbers, or all have two classes; got {kinds}")
    ignored = set(split_names(wanted.ignore, frame))
    for name in reversed(frame.columns):
        if name in ignored:
            continue
        reason = why_left_out(frame, name) or _no_target(frame, name, wanted)
        if reason:
            why[name] = reason
            continue
        return Chosen([name], *_task_of(frame, name, wanted, path), why)
    reasons = "; ".join(f"{shown(name)}: {reason}" for name, reason in list(why.items())[:5])
    raise DataError(f"{path}: no column that could be predicted ({reasons}); name one with --target")


def split_names(given: Sequence[str], frame: Frame) -> list[str]:
    """Column names, several of which may have been given with commas between them."""
    found: list[str] = []
    for name in given:
        if name in frame.columns:
            found.append(name)
        else:
            found += [part.strip() for part in name.split(",")]
    return list(dict.fromkeys(found))


def why_left_out(frame: Frame, name: str) -> str:
    """Why a column is no input, "" if it is one."""
    column = frame.columns[name]
    if isinstance(column, Text):
        counts = column.counts
        told = sum(counts.values())
        if not told:
            return "empty"
        if len(counts) == 1 and not column.more:
            return f"constant, {next(iter(counts))[:40]!r}" if told == frame.rows else ""
        dates = sum(n for value, n in list(counts.items())[:1000] if is_date(value))
        if dates > 0.8 * sum(n for _, n in list(counts.items())[:1000]):
            return "dates"
        sample = list(counts)[:1000]
        long = sum(len(value.split()) for value in sample) > 6 * len(sample)
        if column.more or (len(counts) > 0.5 * told and len(counts) > 20):
            return "free text" if long else "nearly every row has another value: identifiers"
        if long and len(counts) > 20:
            return "free text"
        return ""
    known = column[~np.isnan(column)]
    if not len(known):
        return "empty"
    if (known == known[0]).all():
        return f"constant, {known[0]:g}" if len(known) == frame.rows else ""
    if not (known == np.floor(known)).all():
        return ""
    counting = bool((known[1:] == known[:-1] + 1).all())  # lines without a number may come between or below
    if not frame.header:
        return "row numbers" if counting and known[0] in (0, 1) and len(frame.columns) > 2 else ""
    unnamed = name.startswith("unnamed ") or name.lower().startswith(("unnamed:", "__index_level_"))
    distinct = len(np.unique(known))
    if (unnamed and distinct == len(known)) or (counting and known[0] in (0, 1) and ROW_NUMBERS.fullmatch(name)):
        return "row numbers"
    if IDENTIFIER.fullmatch(name) and distinct > 0.95 * len(known) and len(known) > 20:
        return "identifiers"
    return ""


def _no_target(frame: Frame, name: str, wanted: Any) -> str:
    """Why a column that is fit to be an input cannot be predicted, "" if it can."""
    column = frame.columns[name]
    if isinstance(column, Text):
        counts = column.counts
        told = sum(counts.values())
        if wanted.task == "regression":
            return "text"
        if len(counts) < 2:
            return "one value"
        if len(counts) > 100 or told < 3 * len(counts):
            return f"{len(counts):,} classes are too many for {told:,} rows"
        if told < LEAST_ROWS:
            return "hardly any cell says something"
        return ""
    known = column[~np.isnan(column)]
    if len(known) < LEAST_ROWS:
        return "hardly any cell says something"
    return "" if len(np.unique(known)) > 1 else "one value"


def _task_of(frame: Frame, name: str, wanted: Any, path: Path) -> tuple[str, list[Class]]:
    """Classification with its classes, or regression."""
    column = frame.columns[name]
    if isinstance(column, Text):
        if wanted.task == "regression":
            raise UsageError(
                f"{path}: {shown(name)} holds text such as {_example(column)!r}: a regression needs numbers"
            )
        classes = [value for value, _ in most_common(column)]
        if column.more or len(classes) > MAX_CLASSES:
            raise DataError(f"{path}: {shown(name)} has more than {MAX_CLASSES:,} classes; choose another target")
        _require_two(len(classes), name, path)
        if len(classes) > 20 and len(classes) > 0.9 * sum(column.counts.values()):
            raise DataError(
                f"{path}: nearly every row has another {shown(name)}: there is nothing to learn from; name a target"
            )
        return "classification", sorted(classes)
    known = column[~np.isnan(column)]
    values = np.unique(known)
    _require_two(len(values), name, path)
    whole = bool((values == np.floor(values)).all()) and bool((abs(values) < 2**53).all())
    few = len(values) <= 2 or (whole and len(values) <= FEW_CLASSES and len(known) >= ROWS_A_CLASS * len(values))
    if name in split_names(wanted.categorical, frame):
        few = True
    if wanted.task == "regression" or not (few or wanted.task == "classification"):
        return "regression", []
    if len(values) > MAX_CLASSES:
        raise DataError(f"{path}: {shown(name)} has {len(values):,} values, a classification at most {MAX_CLASSES:,}")
    return "classification", [int(value) if whole else float(value) for value in values]


def _require_two(values: int, name: str, path: Path) -> None:
    if values < 2:
        what = "only one value" if values else "no value at all"
        raise DataError(f"{path}: the target {shown(name)} has {what}; at least two are needed")


def _example(column: Text) -> str:
    return next(iter(column.counts))[:40]
