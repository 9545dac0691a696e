"""Augmentation: how fast, against distorting image by image with scipy.ndimage, and whether batches are ready in time.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.augment     # about a minute; needs MNIST; writes results/augment.json

CPU time on one thread, both in turn, the median of the ratios.
"""

from statistics import median, quantiles
from time import process_time
from typing import Any

import click
import numpy as np
from scipy import ndimage

from benchmarks.record import save, unwrapped
from minisig.data import Batch, load
from minisig.data.ahead import Ahead
from minisig.data.augment import BACKGROUND, Distortion
from minisig.experiments import configure
from minisig.seeds import stream
from minisig.training.build import build_network
from minisig.training.loop import Training

REPEATS = 40
STEPS = 100


def one_by_one(images: Any, labels: Any, rng: np.random.Generator) -> Any:
    """The same distortion as one would write it down: field by field, image by image."""
    distorted = []
    for image, label in zip(images.reshape(-1, 28, 28), labels, strict=True):
        rows, columns = (37 * ndimage.gaussian_filter(rng.uniform(-1, 1, (28, 28)), 5.5, mode="constant") for _ in "yx")
        angle = np.deg2rad((7.5 if label in (1, 7) else 15) * rng.uniform(-1, 1))
        stretch = 1 + 0.175 * rng.uniform(-1, 1, 2)
        y, x = np.mgrid[:28, :28] - 13.5
        rows += (np.cos(angle) * y + np.sin(angle) * x) / stretch[0] + 13.5
        columns += (np.cos(angle) * x - np.sin(angle) * y) / stretch[1] + 13.5
        distorted.append(
            ndimage.map_coordinates(image, [rows, columns], order=1, mode="grid-constant", cval=BACKGROUND)
        )
    return np.array(distorted)


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
    net = build_network(config, data)
    augment = config.data.augment
    assert augment is not None
    assert data.image is not None
    distort = Distortion(augment, data.image, net.backend)
    batch = data.train.batches(config.batch_size, 0).at(1)
    slow, fast = [], []
    for repeat in range(REPEATS):
        started = process_time()
        one_by_one(batch.x, batch.labels, stream(0, "slow", repeat))
        between = process_time()
        for i in range(10):
            distort(batch.x, batch.labels, stream(0, "fast", 10 * repeat + i))
        slow.append((between - started) / len(batch.x))
        fast.append((process_time() - between) / len(batch.x) / 10)
    ratios = [s / f for s, f in zip(slow, fast, strict=True)]
    tenths = quantiles(ratios, n=10)

    training = Training(net, data, config)
    assert isinstance(training.batches, Ahead)
    training.batches = watched = Watched(training.batches.batches)
    for iteration in range(1, STEPS + 1):
        training.step(iteration)
    results = {
        "microseconds_one_by_one": round(median(slow) * 1e6, 1),
        "microseconds": round(median(fast) * 1e6, 1),
        "ratio": round(median(ratios), 1),
        "ratio_10": round(tenths[0], 1),
        "ratio_90": round(tenths[-1], 1),
        "steps": STEPS - 1,
        "ready": sum(watched.ready[1:]),
    }
    print(results)
    save("augment", "OPENBLAS_NUM_THREADS=1 python -m benchmarks.augment", **results)


if __name__ == "__main__":
    main()
