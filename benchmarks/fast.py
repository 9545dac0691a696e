"""Time to accuracy on the real MNIST: the configurations named -fast, four seeds each, but for distorted images one.

python -m benchmarks.fast                       # all, hours on two cores; needs MNIST; writes results/fast.json
python -m benchmarks.fast mnist-shallow-fast    # some; the others' results stay

Learning rates and iterations are those of experiments/table.py, which says how they were chosen: without the test
images. A run trains on all 60,000 and looks at the test images once, after its last iteration. Seconds are
wall time of the whole run, data loading included, on all cores. The load kept with the machine is that of the minute
before the first run: of other programs, or of the configuration measured just before.
"""

import os
from statistics import mean
from time import perf_counter
from typing import Any

import click

from benchmarks.record import machine, read, save, unwrapped
from minisig.experiments import EXPERIMENTS, configure
from minisig.training.run import run

FAST = tuple(name for name in EXPERIMENTS if name.endswith("-fast"))
SEEDS = {"mnist-deep-augmented-fast": 1}  # an hour each


@click.command(help=unwrapped(__doc__))
@click.argument("names", nargs=-1, type=click.Choice(FAST), metavar="[NAME]...")
def main(names: tuple[str, ...]) -> None:
    rows = {row["experiment"]: row for row in (read("fast") or {"rows": []})["rows"]}
    for name in names or FAST:
        rows[name] = measure(name, SEEDS.get(name, 4))
        print(rows[name], flush=True)
        save("fast", "python -m benchmarks.fast", rows=[rows[name] for name in FAST if name in rows])


def measure(name: str, seeds: int) -> dict[str, Any]:
    load = os.getloadavg()[0]  # before ours
    config = configure(name)
    paper, _ = EXPERIMENTS[name.removesuffix("-fast")].paper[config.network.init]
    seconds, summaries = [], []
    for seed in range(seeds):
        started = perf_counter()
        summaries.append(run(configure(name, {"seed": seed})))
        seconds.append(round(perf_counter() - started, 1))
    return {
        "experiment": name,
        "machine": {**machine(), "load": load},  # the other rows may be another's
        "batch_size": config.batch_size,
        "iterations": config.iterations,
        "learning_rate": config.optimizer.learning_rate,
        "paper": paper,
        "test_error": [summary["test_error"] for summary in summaries],
        "mean": mean(summary["test_error"] for summary in summaries),
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
