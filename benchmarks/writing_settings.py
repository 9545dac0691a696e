"""Other settings of the experiment text: python -m benchmarks.writing search

They are judged by the validation text, in bits per character, with a seed that no reported result has. CPU seconds of
one thread, so that a machine with other work to do chooses the same.
"""

from collections.abc import Mapping
from math import log
from time import process_time
from typing import Any

from minisig.experiments import configure
from minisig.report.tables import columns
from minisig.training.run import run

SEED = 100
SHORT = {"iterations": 1000, "validate_every": 500}
GATED = {"network.hidden": (192,), "network.dropout": 0.0, "iterations": 600, "validate_every": 300}
GRU, LSTM = GATED | {"network.model": "gru"}, GATED | {"network.model": "lstm"}
EP = {"network.model": "rnn", "network.init": "ortho+ep", "network.hidden": (256,)}


def _rates(name: str, common: Mapping[str, Any], *rates: float) -> dict[str, dict[str, Any]]:
    return {f"{name}, learning rate {rate:g}": {**common, "optimizer.learning_rate": rate} for rate in rates}


CANDIDATES: dict[str, dict[str, Any]] = {
    **_rates("ortho+ep", EP | SHORT, 0.002, 0.005, 0.01, 0.02),
    **_rates("random+ep", EP | SHORT | {"network.init": "random+ep"}, 0.002, 0.005),
    **_rates("random+ep, joint", EP | SHORT | {"network.init": "random+ep", "network.ep_mode": "joint"}, 0.005),
    **_rates("ortho+ep, longer", EP | SHORT | {"iterations": 3000}, 0.02),
    **_rates("LSTM", LSTM, 0.005, 0.01, 0.02),
    **_rates("LSTM, dropout, longer", LSTM | {"network.dropout": 0.2, "iterations": 1200}, 0.02),
    **_rates("GRU", GRU, 0.005, 0.01, 0.02),
    **_rates("GRU, longer", GRU | {"iterations": 2000}, 0.01),
    **_rates("GRU, dropout, longer", GRU | {"network.dropout": 0.2, "iterations": 1200}, 0.01),
    **_rates("GRU, dropout, longest", GRU | {"network.dropout": 0.2, "iterations": 2200}, 0.01),
}


def compare(candidates: Mapping[str, Mapping[str, Any]] = CANDIDATES) -> str:
    """Every one of them, as a text."""
    rows = [["settings", "iterations", "validation bits", "training bits", "CPU seconds"]]
    for name, settings in candidates.items():
        config = configure("text", {"seed": SEED, "threads": 1, **settings})
        started = process_time()
        summary = run(config)
        bits = [f"{found:.4f}" for found in (summary["valid_bits"], summary["train_loss"] / log(2))]
        rows.append([name, f"{config.iterations:,}", *bits, f"{process_time() - started:.0f}"])
    return columns(rows)
