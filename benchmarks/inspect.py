"""What `minisig inspect` shows of the real MNIST, and what it costs to track every gradient norm while training.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.inspect       # about two minutes; needs $MINISIG_DATA/mnist

Writes results/inspect.json.
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.speed.tracking import ours, shares
from benchmarks.speed.workloads import OURS
from minisig.data import load
from minisig.diagnostics.inspection import inspect_network
from minisig.experiments import PAPER_INITS, configure
from minisig.report.inspection import comparison_text
from minisig.training.loop import Training
from minisig.training.run import build_network

RESULTS = Path(__file__).parent / "results" / "inspect.json"
STEPS = 60


def tracking() -> dict[str, Any]:
    """CPU time of a training step of the deep network, and of the norms of all its gradients as a share of it."""
    config = configure("mnist-deep")
    data = load(config.data)
    training = Training(build_network(config, data), data, config)
    return shares({OURS: ours(training)}, STEPS)[OURS]


def main() -> None:
    config = configure("mnist-deep")
    data = load(config.data)
    batch = data.train.batches(config.batch_size, config.seed).at(1)
    found = {}
    for init in PAPER_INITS:
        net = build_network(configure("mnist-deep", {"network.init": init}), data)
        found[init] = inspect_network(net, batch)
    results = {
        "command": "OPENBLAS_NUM_THREADS=1 python -m benchmarks.inspect",
        "machine": machine(),
        "text": comparison_text(config, found),
        "tracking": tracking(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(results["text"], results["tracking"], sep="\n")


if __name__ == "__main__":
    main()
