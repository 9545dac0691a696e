"""The user's own table: which columns are inputs, what is to be predicted, what is held out.

All of it is guessed from the table unless it is said, and told: `Dataset.about` is what a person reads before training.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from minisig.data.cells import Numbers, shown
from minisig.data.dataset import Dataset, Split
from minisig.data.frame import MAX_DISTINCT, Frame, Text, most_common, read_table
from minisig.data.guesses import LEAST_ROWS, Chosen, Rows, choose, split_names, why_left_out
from minisig.data.hashes import content_hash
from minisig.data.holdout import hold_out
from minisig.data.prepared import (
    MAX_INPUTS,
    Categorical,
    Column,
    Noticed,
    Numeric,
    TableInputs,
    TargetColumns,
)
from minisig.data.told import told
from minisig.errors import DataError
from minisig.settings import Settings

Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]

RARE = 2  # a category with fewer training rows is one of the others


class TableSettings(Settings, frozen=True):
    target: tuple[str, ...] = ()  # columns to be predicted; by default the last that can be
    ignore: tuple[str, ...] = ()  # columns to be left out
    categorical: tuple[str, ...] = ()  # columns of numbers that are names
    task: Literal["classification", "regression"] | None = None
    categories: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 50  # of a column, at most
    split: Annotated[int, msgspec.Meta(ge=0)] = 0  # another number holds out other rows
    valid_share: Share = 0.15
    test_share: Share = 0.2


def load_table(path: Path, wanted: Any, prepared: TableInputs | None = None) -> Dataset:
    """The table in this file; by `prepared` as it was for a model that has been trained, or as its own rows ask for."""
    whole = read_table(path, _text_of(prepared) if prepared else ())
    chosen = _known_target(whole, prepared, path) if prepared else choose(whole, wanted, path)
    frame, y = _with_target(whole, chosen, path)
    with _naming(path):
        parts = hold_out(y, chosen.task, wanted)
    if prepared:
        inputs = prepared
    else:
        columns, left_out = _columns(whole, frame, chosen, wanted, parts["train"], path)
        with _naming(path):
            target = _target(chosen, y[parts["train"]])
        inputs = TableInputs(columns, target, left_out, frame.decimal)
    coded = [_coded(frame, column, inputs.decimal) for column in inputs.columns]
    with _naming(path):
        targets = _targets(y, inputs.target)
        splits = {
            part: Split(inputs.filled([cells[rows] for cells in coded]), targets[rows]) for part, rows in parts.items()
        }
    return Dataset(
        path.name,
        splits["train"],
        splits["valid"],
        splits["test"],
        classes=inputs.target.outputs,
        loss=LOSS[inputs.target.task],
        baselines=_guessing(splits, inputs.target),
        of_loss={"units": inputs.target.scale} if inputs.target.task == "regression" else {},
        prepared=inputs,
        content=content_hash(str(path)),
        rows=parts if frame.kept is None else {part: frame.kept[rows] for part, rows in parts.items()},
        about=told(frame, inputs, parts, splits, chosen, path),
    )


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """What is wrong with the columns is told with the file's name."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


LOSS = {
    "classification": "softmax-cross-entropy",
    "labels": "sigmoid-cross-entropy",
    "regression": "mean-squared-error",
}


def _text_of(prepared: TableInputs) -> list[str]:
    """The columns that were names for the model."""
    names = [column.name for column in prepared.columns if isinstance(column, Categorical)]
    return names + prepared.target.names * any(isinstance(value, str) for value in prepared.target.classes)


def _known_target(frame: Frame, prepared: TableInputs, path: Path) -> Chosen:
    """As it was for the model."""
    for name in [*prepared.target.names, *prepared.names]:
        if name not in frame.columns:
            raise DataError(f"{path}: has no column {shown(name)!r} any more, which the model was trained on")
        column = frame.columns[name]
        if isinstance(column, Text) and column.more:
            raise DataError(
                f"{path}: {shown(name)} has more than {MAX_DISTINCT:,} different cells, not those of the model"
            )
    return Chosen(prepared.target.names, prepared.target.task, prepared.target.classes, {})


def _with_target(frame: Frame, chosen: Chosen, path: Path) -> tuple[Frame, NDArray[Any]]:
    """The rows whose target is known, and it: class numbers (N,), or numbers or answers (N, C)."""
    columns = [frame.columns[name] for name in chosen.names]
    gone = np.zeros(frame.rows, bool)
    for column in columns:
        gone |= column.gone if isinstance(column, Text) else np.isnan(column)
    if gone.any():
        kept = np.flatnonzero(~gone)
        frame = Frame(
            {
                name: (column if column.more else Text(column.values, column.codes[kept]))
                if isinstance(column, Text)
                else column[kept]
                for name, column in frame.columns.items()
            },
            len(kept),
            frame.decimal,
            frame.header,
            [*frame.notes, f"{int(gone.sum()):,} rows without a {shown(chosen.names[0])} are left out"],
            kept,
        )
        columns = [frame.columns[name] for name in chosen.names]
    if frame.rows < LEAST_ROWS:
        raise DataError(f"{path}: {frame.rows} rows with a target are too few; at least {LEAST_ROWS} are needed")
    if chosen.task == "classification":
        return frame, _numbered(columns[0], chosen.classes, path)
    if chosen.task == "labels":
        answers = []
        for i, column in enumerate(columns):
            answers.append(_numbered(column, chosen.classes[2 * i : 2 * i + 2], path))
        return frame, np.stack(answers, axis=1)
    if any(isinstance(column, Text) for column in columns):
        raise DataError(f"{path}: {shown(chosen.names[0])} holds text; the model predicts numbers")
    return frame, np.stack([np.asarray(column) for column in columns], axis=1)


def _numbered(column: Numbers | Text, classes: Sequence[Any], path: Path) -> Rows:
    if isinstance(column, np.ndarray) and any(isinstance(value, str) for value in classes):
        column = Text.of(column)
    if isinstance(column, Text):
        known = {str(value): i for i, value in enumerate(classes)}
        table = np.array([known.get(value, -1) for value in column.values])
        found = table[column.codes]
    else:
        values = np.array(classes, dtype=np.float64)
        found = np.minimum(np.searchsorted(values, column), len(values) - 1)
        found = np.where(values[found] == column, found, -1)
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        value = column.cells(slice(row, row + 1))[0] if isinstance(column, Text) else f"{column[row]:g}"
        raise DataError(f"{path}: the class {value[:40]!r} in row {row + 1:,} is not one of the model's")
    return found.astype(np.int64)


def _columns(
    whole: Frame, frame: Frame, chosen: Chosen, wanted: Any, train: Rows, path: Path
) -> tuple[list[Column], dict[str, str]]:
    """The inputs by what the training part shows, and why the others are left out.

    Row numbers are such in the whole table, whose rows without a target are not in the frame.
    """
    ignored = set(split_names(wanted.ignore, frame))
    categorical = set(split_names(wanted.categorical, frame))
    columns: list[Column] = []
    left_out: dict[str, str] = {}
    for name, column in frame.columns.items():
        if name in chosen.names:
            continue
        reason = "as asked" if name in ignored else why_left_out(frame, name) or why_left_out(whole, name)
        if not reason:
            if isinstance(column, Text):
                made = _categorical(name, column, train, wanted.categories)
            elif name in categorical:
                made = _categorical(name, Text.of(column), train, wanted.categories)
            elif np.isnan(column[train]).all():
                made = "empty in the training part"
            else:
                with _naming(path):
                    made = Numeric.of(name, column[train])
                if np.ptp(column[train][~np.isnan(column[train])]) == 0:
                    made = "constant in the training part"
            if isinstance(made, str):
                reason = made
            else:
                columns.append(made)
        if reason:
            left_out[name] = reason
    if not columns:
        reasons = "; ".join(f"{shown(name)}: {reason}" for name, reason in list(left_out.items())[:5])
        raise DataError(
            f"{path}: no column that could be an input beside {shown(chosen.names[0])} ({reasons or 'no other'})"
        )
    inputs = sum(column.width for column in columns)
    if inputs > MAX_INPUTS:
        raise DataError(f"{path}: {inputs:,} inputs, at most {MAX_INPUTS:,}; leave columns out with --ignore")
    return columns, left_out


def _categorical(name: str, column: Text, train: Rows, most: int) -> Column | str:
    ranked = most_common(Text(column.values, column.codes[train]))
    kept = [value for value, n in ranked[:most] if n >= RARE or len(ranked) <= 2]
    other = len(kept) < len(ranked)
    missing = bool(column.gone[train].any())
    if len(kept) + other + missing < 2:
        return "hardly any two rows have the same value" if not kept else "constant in the training part"
    return Categorical(name, kept, other, missing)


def _coded(frame: Frame, column: Column, decimal: str) -> Any:
    """A column's numbers, or which of its inputs is 1."""
    cells, noticed = frame.columns[column.name], Noticed()
    if isinstance(column, Numeric):
        return column.encode(cells.cells() if isinstance(cells, Text) else cells, decimal, noticed)
    cells = cells if isinstance(cells, Text) else Text.of(cells)
    return column.places(cells.values, noticed)[cells.codes]


def _target(chosen: Chosen, y: NDArray[Any]) -> TargetColumns:
    if chosen.task != "regression":
        return TargetColumns(chosen.names, chosen.task, chosen.classes)
    with np.errstate(over="ignore", invalid="ignore"):
        centre, scale = y.mean(axis=0), y.std(axis=0)
    if not np.isfinite(scale).all():
        raise DataError(f"the target {shown(chosen.names[0])} has values too large; scale it")
    return TargetColumns(chosen.names, "regression", [], centre.tolist(), np.where(scale > 0, scale, 1.0).tolist())


def _targets(y: NDArray[Any], target: TargetColumns) -> NDArray[Any]:
    """As the loss takes them: class numbers, answers 0 or 1, or standardised numbers."""
    if target.task == "classification":
        return y
    if target.task == "labels":
        return y.astype(np.float32)
    with np.errstate(over="ignore"):
        standardised: NDArray[np.float32] = ((y - np.array(target.centre)) / np.array(target.scale)).astype(np.float32)
    if not np.isfinite(standardised).all():
        row, place = np.argwhere(~np.isfinite(standardised))[0]
        raise DataError(
            f"the target {shown(target.names[place])} has a value too large beside the others, {y[row, place]:g}"
        )
    return standardised


def _guessing(splits: Mapping[str, Split], target: TargetColumns) -> dict[str, float]:
    """The test result of an answer that is always the same: the most frequent class, the mean."""
    train, test = splits["train"].y, splits["test"].y
    if target.task == "classification":
        return {"guessing": 100 * float((test != np.bincount(train).argmax()).mean())}
    if target.task == "labels":
        return {"guessing": 100 * float(((train.mean(axis=0) > 0.5) != (test > 0.5)).mean())}
    return {"guessing": float(np.sqrt((((test - train.mean(axis=0)) * np.array(target.scale)) ** 2).mean()))}
