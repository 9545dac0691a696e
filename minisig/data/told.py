"""What was read of a table and decided about it, for a person: `Dataset.about`."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from minisig.data.cells import shown
from minisig.data.dataset import PARTS, Split
from minisig.data.frame import Frame, Text
from minisig.data.guesses import Chosen, Rows
from minisig.data.prepared import Categorical, Numeric, TableInputs

MAX_SHOWN = 8  # names in a line


def told(
    frame: Frame,
    inputs: TableInputs,
    parts: Mapping[str, Rows],
    splits: Mapping[str, Split],
    chosen: Chosen,
    path: Path,
) -> list[str]:
    """What was read and decided."""
    target = inputs.target
    sizes = ", ".join(
        f"{len(parts[part]):,} {word}" for part, word in zip(PARTS, ("to train", "to validate", "to test"), strict=True)
    )
    lines = [f"{path.name}: {frame.rows:,} rows ({sizes}), {len(frame.columns):,} columns, {inputs.inputs:,} inputs"]
    names = ", ".join(map(shown, target.names))
    if target.task == "classification":
        counts = np.bincount(np.concatenate([split.y for split in splits.values()]), minlength=len(target.classes))
        ranked = sorted(zip(target.classes, counts.tolist(), strict=True), key=lambda item: -item[1])
        most = ", ".join(f"{shown(str(label))} {n / frame.rows:.0%}" for label, n in ranked[:6])
        more = f" and {len(ranked) - 6} more" if len(ranked) > 6 else ""
        lines.append(f"target {names}: classification, {len(ranked)} classes: {most}{more}")
    elif target.task == "labels":
        lines.append(f"targets {names}: yes or no for each")
    else:
        spread = ", ".join(f"{c:.4g} ± {s:.3g}" for c, s in zip(target.centre[:3], target.scale[:3], strict=True))
        lines.append(f"target {names}: regression, {spread}")
    for name, why in chosen.why.items():
        lines.append(f"not the target: {shown(name)}, {why}")
    for column in inputs.columns:
        cells = frame.columns[column.name]
        gone = int(cells.gone.sum()) if isinstance(cells, Text) else int(np.isnan(cells).sum())
        if gone:
            filled = (
                "a category of their own"
                if isinstance(column, Categorical) and column.missing
                else (f"filled with {column.fill:g}" if isinstance(column, Numeric) else "no category")
            )
            lines.append(f"{shown(column.name)}: {gone:,} missing, {filled}")
    named = [
        f"{shown(column.name)} ({len(column.values)}{' and others' if column.other else ''})"
        for column in inputs.columns
        if isinstance(column, Categorical)
    ]
    if named:
        more = f" and {len(named) - MAX_SHOWN} columns more" if len(named) > MAX_SHOWN else ""
        lines.append(f"categories: {', '.join(named[:MAX_SHOWN])}{more}")
    by_reason: dict[str, list[str]] = {}
    for name, why in inputs.left_out.items():
        by_reason.setdefault(why, []).append(name)
    for why, left in by_reason.items():
        more = f" and {len(left) - MAX_SHOWN} more" if len(left) > MAX_SHOWN else ""
        lines.append(f"left out: {', '.join(map(shown, left[:MAX_SHOWN]))}{more}: {why}")
    return [*lines, *frame.notes]
