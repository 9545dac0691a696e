"""The first minutes on the real MNIST: what EP learns in them, and what the classical initialization does not.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.mnist       # about three minutes; needs MNIST; writes results/mnist.json
python -m benchmarks.mnist --check                      # the same, but writes nothing

Either fails where a claim does not hold.
"""

from collections.abc import Callable
from typing import Any

import click

from benchmarks.record import save, unwrapped
from minisig.experiments import configure
from minisig.training.run import run

# experiment, init, iterations, what is claimed of it
RUNS: tuple[tuple[str, str, int, Callable[[dict[str, Any]], bool]], ...] = (
    ("mnist-shallow", "random+ep", 5000, lambda result: result["test_error"] < 8),
    ("mnist-deep", "random+ep", 1000, lambda result: result["valid_error"] < 12),
    ("mnist-deep", "lecun", 1000, lambda result: result["valid_error"] > 80),
)


@click.command(help=unwrapped(__doc__))
@click.option("--check", is_flag=True, help="Write nothing.")
def main(check: bool) -> None:
    rows: list[dict[str, Any]] = []
    wrong = []
    for experiment, init, iterations, holds in RUNS:
        summary = run(configure(experiment, {"network.init": init, "iterations": iterations}))
        names = ("experiment", "init", "iterations", "valid_error", "test_error", "seconds")
        row = {name: summary[name] for name in names}
        rows.append(row)
        print(row, flush=True)
        if not holds(summary):
            wrong.append(f"{experiment}, {init}")
    if not check:
        save("mnist", "python -m benchmarks.mnist", rows=rows)
    if wrong:
        raise SystemExit(f"the claim does not hold: {'; '.join(wrong)}")


if __name__ == "__main__":
    main()
