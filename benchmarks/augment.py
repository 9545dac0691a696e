"""Augmentation: whether distorted batches are ready when training asks for them.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.augment     # half a minute; needs MNIST; writes results/augment.json

How fast they are made is the workload `augment` of python -m benchmarks.
"""

from typing import Any

import click

from benchmarks.record import save, unwrapped
from minisig.data import Batch, load
from minisig.data.ahead import Ahead
from minisig.experiments import configure
from minisig.training.build import build_network
from minisig.training.loop import Training

STEPS = 100


class Watched(Ahead):
    """Remembers of every batch whether it was ready when it was asked for."""

    def __init__(self, batches: Any) -> None:
        super().__init__(batches)
        self.ready: list[bool] = []

    def at(self, iteration: int) -> Batch:
        self.ready.append(self.coming is not None and self.coming[1].done())
        return super().at(iteration)


@click.command(help=unwrapped(__doc__))
def main() -> None:
    config = configure("mnist-deep-augmented")
    data = load(config.data)
    training = Training(build_network(config, data), data, config)
    assert isinstance(training.batches, Ahead)
    training.batches = watched = Watched(training.batches.batches)
    for iteration in range(1, STEPS + 1):
        training.step(iteration)
    results = {
        "steps": STEPS - 1,
        "ready": sum(watched.ready[1:]),
    }
    print(results)
    save("augment", "python -m benchmarks.augment", **results)


if __name__ == "__main__":
    main()
