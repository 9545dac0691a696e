"""What it costs to know the norm of every parameter's gradient at every step, as a share of the step."""

import json
import sys
from collections.abc import Callable, Mapping
from itertools import count
from time import process_time
from typing import Any

from benchmarks.speed.measure import WARM_UP, spread
from benchmarks.speed.worker import fresh
from benchmarks.speed.workloads import OURS, TORCH, WORKLOADS, build
from minisig.training.loop import Training

Tracked = Callable[[], Callable[[], Any]]  # a training step, which returns what takes the norms of its gradients

MAX_SHARE = 0.05


def measure(steps: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = fresh("benchmarks.speed.tracking", steps, threads=1)
    return found


def shares(peers: Mapping[str, Tracked], steps: int) -> dict[str, dict[str, float]]:
    """CPU time of a step by peer, and that of the norms as a share of it, all peers in turn."""
    times: dict[str, list[tuple[float, float]]] = {peer: [] for peer in peers}
    for _ in range(WARM_UP + steps):
        for peer, step in peers.items():
            started = process_time()
            norms = step()
            stepped = process_time()
            norms()
            times[peer].append((stepped - started, process_time() - stepped))
    found = {}
    for peer, pairs in times.items():
        share = spread([norm / step for step, norm in pairs[WARM_UP:]])
        step_ms = 1e3 * spread([step for step, _ in pairs[WARM_UP:]]).median
        found[peer] = {"step_ms": step_ms, "share": share.median, "share_10": share.low, "share_90": share.high}
    return found


def ours(training: Training) -> Tracked:
    iteration = count(1)
    return lambda: training.step(next(iteration))[0].gradient_norms


def main(steps: int) -> dict[str, dict[str, float]]:
    config = WORKLOADS["mlp-deep"].config
    case = build(config)
    peers = {OURS: ours(Training(case.net, case.data, config))}
    try:
        from benchmarks.speed import pytorch
    except ImportError:
        pass
    else:
        peers[TORCH] = pytorch.tracked_step_of(build(config))
    return shares(peers, steps)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))))
