"""Augmentation: how long training waits for distorted batches, which a thread makes beside it.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.augment     # half a minute; needs MNIST; writes results/augment.json

How fast they are made is the workload `augment` of python -m benchmarks.
"""

from time import perf_counter
from typing import Any

import click

from benchmarks.record import save, unwrapped
from minisig.data import Batch, load
from minisig.data.ahead import Ahead
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.loop import Training

STEPS, WARM_UP = 200, 5


class Watched(Ahead):
    """Counts the seconds that whoever asked for a batch had to wait for it."""

    def __init__(self, batches: Any) -> None:
        super().__init__(batches)
        self.waited = 0.0

    def at(self, iteration: int) -> Batch:
        asked = perf_counter()
        batch = super().at(iteration)
        self.waited += perf_counter() - asked
        return batch


@click.command(help=unwrapped(__doc__))
def main() -> None:
    config = configure("mnist-deep-augmented")
    data = load(config.data)
    training = Training(build_network(config, data), data, config)
    assert isinstance(training.batches, Ahead)
    training.batches = watched = Watched(training.batches.batches)
    for iteration in range(1, WARM_UP + 1):
        training.step(iteration)
    watched.waited, started = 0.0, perf_counter()
    for iteration in range(WARM_UP + 1, WARM_UP + STEPS + 1):
        training.step(iteration)
    seconds = perf_counter() - started
    results = {"steps": STEPS, "step_ms": 1e3 * seconds / STEPS, "waiting": watched.waited / seconds}
    print(results)
    save("augment", "python -m benchmarks.augment", **results)


if __name__ == "__main__":
    main()
