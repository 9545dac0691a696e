"""How our step's time and memory grow with the sizes of the problem: the exponent p of a fit c·nᵖ."""

import json
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any

import numpy as np

from benchmarks.speed import ours
from benchmarks.speed.measure import interleaved, spread
from benchmarks.speed.worker import fresh
from benchmarks.speed.workloads import BARE, build
from minisig.experiments import configure
from minisig.training.config import Config

# what grows: experiment, sizes, settings of a size
SWEEPS: dict[str, tuple[str, tuple[int, ...], Callable[[int], Mapping[str, Any]]]] = {
    "width of two hidden layers": ("mnist-deep", (250, 500, 1000, 2000), lambda n: {"network.hidden": (n, n)}),
    "hidden layers of 100": ("digits", (8, 16, 32, 64), lambda n: {"network.hidden": (100,) * n}),
    "batch of mlp-shallow": ("mnist-shallow", (50, 100, 200, 400), lambda n: {"batch_size": n}),
    "steps of copy-rnn-20": ("copy-memory", (56, 106, 206, 406), lambda n: {"data.delay": n - 6}),
    "vocabulary of ptb-rnn": ("ptb", (1250, 2500, 5000, 10_000), lambda n: {"data.vocabulary": n}),
}


def exponent(sizes: tuple[int, ...], values: list[float]) -> float:
    """p of the least-squares fit of ln value = p ln size + const."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def measure(rounds: int, seconds: float) -> dict[str, dict[str, Any]]:
    return {what: fresh("benchmarks.speed.growth", what, rounds, seconds, threads=1) for what in SWEEPS}


def main(what: str, rounds: int, seconds: float) -> dict[str, Any]:
    experiment, sizes, settings = SWEEPS[what]
    configs = [configure(experiment, BARE | dict(settings(size))) for size in sizes]
    steps = {str(size): ours.step_of(build(config)) for size, config in zip(sizes, configs, strict=True)}
    times = [1e3 * spread(values).median for values in interleaved(steps, process_time, rounds, seconds).values()]
    steps.clear()
    peaks = [_peak(config) for config in configs]
    return {
        "sizes": sizes,
        "milliseconds": times,
        "time_exponent": exponent(sizes, times),
        "bytes": peaks,
        "memory_exponent": exponent(sizes, peaks),
    }


def _peak(config: Config) -> float:
    """The most bytes that Python and NumPy hold during a step, network and batches included."""
    tracemalloc.start()
    step = ours.step_of(build(config))
    step.run()
    tracemalloc.reset_peak()
    step.run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(peak)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
