"""The README's pictures: the gradient of every layer over training, alive and dead; and distorted digits.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.figures     # half a minute; needs MNIST; writes results/gradients.png and
                                                        # augment.png
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.record import RESULTS, unwrapped
from minisig.data import load
from minisig.errors import MinisigError
from minisig.experiments import configure
from minisig.report.figures import contact_sheet, gradient_maps, require_drawable, save
from minisig.report.metrics import read_metrics
from minisig.training.run import run

GRADIENTS, DISTORTIONS = RESULTS / "gradients.png", RESULTS / "augment.png"
INITS = ("random+ep", "lsuv", "lecun")


@click.command(help=unwrapped(__doc__))
def main() -> None:
    try:
        require_drawable(GRADIENTS)
        config = configure("mnist-deep-augmented")
        save(contact_sheet(config, load(config.data)), DISTORTIONS)
    except MinisigError as failure:
        raise click.ClickException(str(failure)) from None
    runs = {}
    with TemporaryDirectory() as folder:
        for init in INITS:
            path = Path(folder) / init
            error = run(configure("digits", {"network.init": init}), path)["test_error"]
            runs[f"{init}: test error {error:.2f} %"] = read_metrics(path / "metrics.jsonl")
    save(gradient_maps(runs), GRADIENTS)
    print(f"{GRADIENTS.name} and {DISTORTIONS.name} written")


if __name__ == "__main__":
    main()
