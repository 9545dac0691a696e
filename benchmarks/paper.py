"""The paper's tables with our own numbers, at a budget that two cores finish in one to two hours.

python -m benchmarks.paper --workers 2                  # all; needs MNIST and the Penn Treebank; writes
                                                        # results/paper/NAME.json and NAME.png
python -m benchmarks.paper xor mnist-deep --workers 2   # some
python -m benchmarks.paper --full --scheduler ADDRESS   # at the paper's own scale, for a GPU or a cluster

What is finished stays in the folder runs/ and is not made again: after an interruption the same command goes on.
At the reduced budget the learning rate is higher than the paper's, on MNIST it falls to 0 besides, so that the networks
get as far as they can in a hundredth of its iterations or fewer; mnist-deep-start keeps the paper's rate and shows the
first 2,000. XOR and copy memory keep theirs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks import record
from minisig.errors import MinisigError
from minisig.experiments import EXPERIMENTS
from minisig.experiments.compare import compare, every_row, plan
from minisig.experiments.executors import choose_executor
from minisig.report.comparison import comparison_json, comparison_text
from minisig.report.figures import learning_curves, require_drawable, save


def _falling(rate: float, iterations: int) -> dict[str, Any]:
    return {"optimizer.learning_rate": rate, "optimizer.schedule": "linear", "iterations": iterations}


# name: experiment, seeds, settings of the reduced budget
BUDGET: dict[str, tuple[str, int, Mapping[str, Any]]] = {
    "xor": ("xor", 10, {}),
    "mnist-shallow": ("mnist-shallow", 3, _falling(0.05, 9000)),
    "mnist-shallow-dropout": ("mnist-shallow-dropout", 3, _falling(0.05, 9000)),
    "mnist-deep-start": ("mnist-deep", 2, {"iterations": 2000, "validate_every": 250}),
    "mnist-deep": ("mnist-deep", 1, _falling(0.02, 3000)),
    "mnist-deep-augmented": ("mnist-deep-augmented", 1, _falling(0.02, 2500)),
    "copy-memory": ("copy-memory", 4, {"iterations": 3000}),
    "ptb": ("ptb", 1, {"optimizer.learning_rate": 0.001, "iterations": 1000}),
    "ptb-dropout": ("ptb-dropout", 1, {"optimizer.learning_rate": 0.001, "iterations": 1000}),
}
# A scaled tanh passes on gradients four times as large as a sigmoid: the reduced budget's rate would tear it apart.
SLOWER = {"scaled-tanh": 0.1}


@click.command(help=record.unwrapped(__doc__), context_settings={"show_default": True})
@click.argument("names", nargs=-1, type=click.Choice(list(BUDGET)), metavar="[NAME]...")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine.")
@click.option("--scheduler", help="Address of a Dask cluster.")
@click.option("--backend", default="numpy")
@click.option("--full", is_flag=True, help="The paper's own iterations and learning rates.")
def main(names: tuple[str, ...], workers: int | None, scheduler: str | None, backend: str, full: bool) -> None:
    try:
        require_drawable(record.RESULTS / "paper" / "NAME.png")
    except MinisigError as failure:
        raise click.ClickException(str(failure)) from None
    for name in names or BUDGET:
        experiment, seeds, settings = BUDGET[name]
        if full:
            if name != experiment:  # a part of another
                continue
            seeds, settings = EXPERIMENTS[experiment].seeds, {}
        settings = {**settings, "backend": backend, "threads": 1}
        jobs, slower = [], {}
        for row in every_row(experiment, None):
            own = dict(settings)
            if row in SLOWER and "optimizer.learning_rate" in own:
                own["optimizer.learning_rate"] *= SLOWER[row]
                slower = {"learning_rate_times": {row: SLOWER[row]}}
            jobs += plan(experiment, [row], seeds, own)
        executor = choose_executor(workers, scheduler, gpu=backend == "cupy")
        comparison = compare(jobs, Path("runs") / "paper" / name, executor)
        print(comparison_text(comparison), flush=True)
        target = f"paper/{name}-full" if full else f"paper/{name}"
        command = f"python -m benchmarks.paper {name} --backend {backend}" + (" --full" if full else "")
        record.save(target, command, settings=settings | slower, **comparison_json(comparison))
        save(learning_curves(comparison), record.RESULTS / f"{target}.png")


if __name__ == "__main__":
    main()
