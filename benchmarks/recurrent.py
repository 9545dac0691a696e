"""Recurrent networks: copy memory for every initialization, longer delays, and a short Penn Treebank run.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.recurrent copy      # about ten minutes on two cores
OPENBLAS_NUM_THREADS=1 python -m benchmarks.recurrent delays    # about ten minutes
OPENBLAS_NUM_THREADS=1 python -m benchmarks.recurrent ptb       # about ten minutes; needs the Penn Treebank

Each writes results/recurrent-PART.json.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import click

from benchmarks.record import save, unwrapped
from minisig.experiments import configure
from minisig.training.run import run

SEEDS = 4

COPY: dict[str, dict[str, Any]] = {
    "ortho+ep": {"network.init": "ortho+ep"},
    "ortho+ep, radius 4.5": {"network.init": "ortho+ep", "network.radius": 4.5},
    "random+ep": {"network.init": "random+ep"},
    "random+ep, joint": {"network.init": "random+ep", "network.ep_mode": "joint"},
    "lsuv": {"network.init": "lsuv"},
    "ortho": {"network.init": "ortho"},
    "glorot": {"network.init": "glorot"},
    "lecun": {"network.init": "lecun"},
    "LSTM, forget bias 1": {"network.model": "lstm"},
    "LSTM, forget bias 5": {"network.model": "lstm", "network.forget_bias": 5.0},
    "ortho+ep, no warm-up": {"network.init": "ortho+ep", "optimizer.warmup": 0},
    "random+ep, no warm-up": {"network.init": "random+ep", "optimizer.warmup": 0},
}
GENTLE = {  # what reached farthest of what was tried
    "network.init": "ortho+ep",
    "network.radius": 4.5,
    "network.input_rms": 0.02,
    "optimizer.learning_rate": 3e-4,
    "optimizer.clip": 0.1,
}
DELAYS: dict[str, dict[str, Any]] = {
    f"T = {delay}": GENTLE | {"data.delay": delay, "iterations": 4000} for delay in (100, 200, 300, 500, 1000)
}
SHORT = {"iterations": 1500, "optimizer.learning_rate": 1e-3, "validate_every": 500}
PTB: dict[str, dict[str, Any]] = {
    "RNN, ortho+ep": SHORT | {"network.init": "ortho+ep"},
    "RNN, random+ep": SHORT | {"network.init": "random+ep"},
    "LSTM": SHORT | {"network.model": "lstm"},
}
PARTS: dict[str, tuple[str, Mapping[str, Any], Mapping[str, Mapping[str, Any]], int]] = {
    "copy": ("copy-memory", {"iterations": 3000}, COPY, SEEDS),
    "delays": ("copy-memory", {}, DELAYS, 1),
    "ptb": ("ptb", {}, PTB, 1),
}
KEPT = ("iterations", "seconds", "valid_perplexity", "test_perplexity", "test_recall")


def measure(job: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One run's figures."""
    experiment, settings = job
    summary = run(configure(experiment, settings))
    return {key: summary[key] for key in KEPT if key in summary} | {"baselines": summary["baselines"]}


@click.command(help=unwrapped(__doc__))
@click.argument("part", type=click.Choice(list(PARTS)))
def main(part: str) -> None:
    experiment, common, variants, seeds = PARTS[part]
    jobs = [(experiment, {**common, **own, "seed": seed}) for own in variants.values() for seed in range(seeds)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        figures = iter(list(pool.map(measure, jobs)))
    rows: list[dict[str, Any]] = [
        {"variant": name, "settings": {**common, **own}, "runs": [next(figures) for _ in range(seeds)]}
        for name, own in variants.items()
    ]
    command = f"python -m benchmarks.recurrent {part}"
    save(f"recurrent-{part}", command, experiment=experiment, rows=rows)
    for row in rows:
        print(row["variant"], [(r["test_perplexity"], r.get("test_recall"), r["seconds"]) for r in row["runs"]])


if __name__ == "__main__":
    main()
