"""What `minisig inspect mnist-deep --init all` shows of the real MNIST.

python -m benchmarks.inspect        # about a minute; needs $MINISIG_DATA/mnist; writes results/inspect.json
"""

import click

from benchmarks.record import save, unwrapped
from minisig.data import load
from minisig.diagnostics.inspection import inspect_network
from minisig.experiments import PAPER_INITS, configure
from minisig.report.inspection import side_by_side_text
from minisig.training.build import build_network


@click.command(help=unwrapped(__doc__))
def main() -> None:
    config = configure("mnist-deep")
    data = load(config.data)
    batch = data.train.batches(config.batch_size, config.seed).at(1)
    found = {}
    for init in PAPER_INITS:
        net = build_network(configure("mnist-deep", {"network.init": init}), data)
        found[init] = inspect_network(net, batch.x, batch.labels)
    text = side_by_side_text(config, found)
    print(text)
    save("inspect", "python -m benchmarks.inspect", text=text)


if __name__ == "__main__":
    main()
