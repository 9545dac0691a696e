"""The README's picture: the gradient of every layer over training, alive and dead.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.figures         # half a minute; writes results/gradients.png
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.record import unwrapped
from minisig.errors import MinisigError
from minisig.experiments import configure
from minisig.report.figures import gradient_maps, require_drawable, save
from minisig.report.metrics import read_metrics
from minisig.training.run import run

RESULTS = Path(__file__).parent / "results" / "gradients.png"
INITS = ("random+ep", "lsuv", "lecun")


@click.command(help=unwrapped(__doc__))
def main() -> None:
    try:
        require_drawable(RESULTS)
    except MinisigError as failure:
        raise click.ClickException(str(failure)) from None
    runs = {}
    with TemporaryDirectory() as folder:
        for init in INITS:
            path = Path(folder) / init
            error = run(configure("digits", {"network.init": init}), path)["test_error"]
            runs[f"{init}: test error {error:.2f} %"] = read_metrics(path / "metrics.jsonl")
    save(gradient_maps(runs), RESULTS)
    print(f"{RESULTS.name} written")


if __name__ == "__main__":
    main()
