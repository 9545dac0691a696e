"""Memory that training takes, as the system counts it: the most a fresh process ever held, beyond what it held when
everything was imported; and what our steps leave behind over thousands of them. Linux only.

The peak is VmHWM and not ru_maxrss, which a process inherits from the one that started it.
"""

import gc
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.record import held
from benchmarks.speed.worker import fresh
from benchmarks.speed.workloads import JAX, OURS, SKLEARN, TORCH, WORKLOADS, build, maker

TRAINERS = (OURS, TORCH, JAX, SKLEARN)
STEPS = 20
SETTLED = 500  # steps after which nothing new should be held


def peaks(name: str) -> dict[str, int]:
    """Bytes, by peer."""
    peers = [peer for peer in (OURS, *WORKLOADS[name].peers) if peer in TRAINERS]
    found = {peer: fresh("benchmarks.speed.memory", name, peer, 0, STEPS, threads=1) for peer in peers}
    return {peer: result["peak"] for peer, result in found.items() if result}


def grown(name: str, steps: int) -> int:
    """Bytes that our process holds more after so many further steps."""
    found: int = fresh("benchmarks.speed.memory", name, OURS, SETTLED, steps, threads=1)["grown"]
    return found


def main(name: str, peer: str, settle: int, steps: int) -> dict[str, int] | None:
    workload = WORKLOADS[name]
    try:
        make = maker(workload, peer)
    except ImportError:
        return None
    imported = held("VmRSS")
    case = build(workload.config)
    step = make(case)
    del case  # with its weights and batches, where the peer has its own
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is held now
    for _ in range(settle):
        step.run()
    settled = held("VmRSS")
    for _ in range(steps):
        step.run()
    step.wait()
    return {"peak": held("VmHWM") - imported, "grown": held("VmRSS") - settled}


if __name__ == "__main__":
    arguments: Any = sys.argv[1:3] + [int(n) for n in sys.argv[3:]]
    sys.stdout.write(json.dumps(main(*arguments)))
