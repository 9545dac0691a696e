"""SigmoidClassifier beside scikit-learn's own MLPClassifier(activation="logistic") of the same shape, on digits.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.sklearn     # a few minutes; writes results/sklearn.json

Both see the same 1,497 training and 300 test images, for as many passes in batches of as many. Ours has its default
learning rate; of MLPClassifier every optimizer is shown with the learning rate that did best on the test images.
"""

from collections.abc import Callable
from functools import partial
from statistics import mean
from time import process_time
from typing import Any

import click
import numpy as np
from sklearn.neural_network import MLPClassifier

from benchmarks.record import save, unwrapped
from minisig.bridges.sklearn import SigmoidClassifier
from minisig.data import load

SHAPES = ((100,), (100,) * 8)
SEEDS, PASSES, BATCH = 3, 130, 50
RATES = (0.001, 0.01, 0.1)


def measure(name: str, hidden: tuple[int, ...], make: Callable[..., Any]) -> dict[str, Any]:
    data = load("digits")
    x, y = (np.concatenate([getattr(part, letter) for part in (data.train, data.valid)]) for letter in "xy")
    started, errors = process_time(), []
    for seed in range(SEEDS):
        classifier = make(hidden, max_iter=PASSES, batch_size=BATCH, random_state=seed).fit(x, y)
        errors.append(round(100 * (1 - classifier.score(data.test.x, data.test.y)), 2))
    seconds = round((process_time() - started) / SEEDS, 1)
    row = {"classifier": name, "hidden": list(hidden), "test_errors": errors, "seconds": seconds}
    print(row, flush=True)
    return row


def rows(hidden: tuple[int, ...]) -> list[dict[str, Any]]:
    found = [
        measure(f"SigmoidClassifier, {init}", hidden, partial(SigmoidClassifier, init=init))
        for init in ("random+ep", "lecun")
    ]
    # It shall not give up before ours does.
    theirs = partial(MLPClassifier, activation="logistic", tol=0.0, n_iter_no_change=PASSES)
    for solver in ("adam", "sgd"):
        tried = [
            measure(
                f"MLPClassifier, {solver}, learning rate {rate:g}",
                hidden,
                partial(theirs, solver=solver, learning_rate_init=rate),
            )
            for rate in RATES
        ]
        found.append(min(tried, key=lambda row: mean(row["test_errors"])))
    return found


@click.command(help=unwrapped(__doc__))
def main() -> None:
    found = [row for hidden in SHAPES for row in rows(hidden)]
    save("sklearn", "python -m benchmarks.sklearn", passes=PASSES, rows=found)


if __name__ == "__main__":
    main()
