"""Which rows are held out: a stratified choice, the same for every seed of a run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minisig.data.guesses import Rows
from minisig.errors import DataError, UsageError
from minisig.seeds import stream

MAX_HELD_OUT = 50_000  # rows, for each of the two parts


def hold_out(y: NDArray[Any], task: str, wanted: Any) -> dict[str, Rows]:
    """Row numbers of the three parts: in each the classes, or small and large targets, come in the same shares."""
    rng = stream(wanted.split, "hold-out")
    order = rng.permutation(len(y))
    if y.ndim == 1 or y.shape[1] == 1:
        order = order[np.argsort(y[order].reshape(-1), kind="stable")]
    N = len(y)
    most = min(MAX_HELD_OUT, N)
    tests = max(1, min(round(wanted.test_share * N), most))
    valids = max(1, min(round(wanted.valid_share * N), most))
    if tests + valids > N - 2:
        raise UsageError(f"data.test_share and data.valid_share leave no rows to train on, of {N}")
    test = _every(order, tests, rng)
    rest = order[~np.isin(order, test)]
    valid = _every(rest, valids, rng)
    train = rest[~np.isin(rest, valid)]
    if task == "classification":  # a class that is only held out could not be learned
        for label in np.setdiff1d(y, y[train]):
            own = np.concatenate([part[y[part] == label] for part in (valid, test)])
            valid, test = valid[y[valid] != label], test[y[test] != label]
            train = np.concatenate([train, own])
    if not (len(valid) and len(test)):
        raise DataError("every class has too few rows for any to be held out; at least two of each are needed")
    return {"train": np.sort(train), "valid": np.sort(valid), "test": np.sort(test)}


def _every(order: Rows, n: int, rng: np.random.Generator) -> Rows:
    """n of them, evenly spread."""
    return order[np.floor((np.arange(n) + rng.random()) * len(order) / n).astype(np.int64)]
