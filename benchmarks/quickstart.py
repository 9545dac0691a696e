"""The quick start's numbers: digits at 8 and at 100 hidden layers, and XOR, per initialization and seed.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.quickstart      # five to fifteen minutes; writes results/quickstart.json
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.record import save, unwrapped
from minisig.experiments import configure
from minisig.initializers import INITIALIZERS
from minisig.report.summary import summary_text
from minisig.training.run import run

# Half the rate of eight layers, at which rounding decides how a run ends. Of the rates tried with the seeds 20 to 25,
# 0.005, 0.01, 0.014 and 0.02, the second is the largest that learns well with all of them and is not near the last.
DEEP = {"network.hidden": [100] * 100, "optimizer.learning_rate": 0.01}


def measure(experiment: str, inits: Sequence[str], seeds: int, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For every initialization the test errors over the seeds, and the mean time of a run."""
    rows = []
    for init in inits:
        runs = [run(configure(experiment, {**settings, "network.init": init, "seed": seed})) for seed in range(seeds)]
        row = {
            "init": init,
            "test_errors": [round(r["test_error"], 2) for r in runs],
            "seconds": round(sum(r["seconds"] for r in runs) / seeds, 2),
        }
        rows.append(row)
        print(experiment, row, flush=True)
    return rows


@click.command(help=unwrapped(__doc__))
def main() -> None:
    config = configure("digits")
    save(
        "quickstart",
        "python -m benchmarks.quickstart",
        output=summary_text(run(config), config, Path("runs/digits-random+ep-seed0")),
        digits=measure("digits", list(INITIALIZERS), 4, {}),
        deep=measure("digits", ["random+ep", "ortho+ep"], 4, DEEP),
        xor=measure("xor", list(INITIALIZERS), 20, {}),
    )


if __name__ == "__main__":
    main()
