"""Where the time of our step goes: the share of each kind of the backend's work, and of what lies between.

Where a target is missed, this says why. What is read is the clock on the wall, on one thread: it costs less than the
work it measures.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.speed.measure import WARM_UP, spread
from benchmarks.speed.ours import step_of
from benchmarks.speed.worker import fresh
from benchmarks.speed.workloads import WORKLOADS, Case, build

KINDS = {
    "products": ("gemm", "matmul", "affine"),
    "activations": (
        *("sigmoid", "sigmoid_backward", "lstm_gates", "lstm_slopes", "lstm_gates_backward"),
        *("gru_gates", "gru_slopes", "gru_gates_backward"),
    ),
    "softmax": ("softmax_cross_entropy", "sigmoid_cross_entropy", "squared_error"),
    "sums and norms": (
        *("row_sum", "add_row_sum", "scatter_add", "norm", "gram_norm", "rows_norm", "clip_factor"),
        "within",
    ),
    "updates": ("add", "adam", "rmsprop"),
}
BETWEEN = "between"


class Watched:
    """A backend, and the seconds that each kind of its work took."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.seconds: dict[str, float] = defaultdict(float)
        self.kinds = {name: kind for kind, names in KINDS.items() for name in names}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.backend, name)
        return self._timed(found, self.kinds[name]) if name in self.kinds else found

    def _timed(self, work: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            started = perf_counter()
            try:
                return work(*args, **options)
            finally:
                self.seconds[kind] += perf_counter() - started

        return timed


def measure(steps: int) -> dict[str, dict[str, float]]:
    own = [name for name, workload in WORKLOADS.items() if not workload.makers]
    return {name: fresh("benchmarks.speed.shares", name, steps, threads=1) for name in own}


def shares(case: Case, steps: int) -> dict[str, float]:
    """The median share of each kind over so many steps."""
    watched: Any = Watched(case.net.backend)
    case.net.backend = watched
    step = step_of(case)
    found: dict[str, list[float]] = {kind: [] for kind in (*KINDS, BETWEEN)}
    for _ in range(WARM_UP):
        step.run()
    for _ in range(steps):
        watched.seconds.clear()
        started = perf_counter()
        step.run()
        whole = perf_counter() - started
        watched.seconds[BETWEEN] = whole - sum(watched.seconds.values())
        for kind, each in found.items():
            each.append(watched.seconds[kind] / whole)
    return {kind: spread(each).median for kind, each in found.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(shares(build(WORKLOADS[sys.argv[1]].config), int(sys.argv[2]))))
