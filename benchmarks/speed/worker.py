"""One workload in a fresh process: `measure` starts it, `main` is what runs there.

Threads are fixed before any library comes that has a pool of them. With one thread the process is kept on one core, as
not every pool obeys a setting, and CPU time is what counts; with all of them it can only be wall time.
"""

import json
import os
import subprocess
import sys
from time import perf_counter, process_time
from typing import Any

from benchmarks.speed.measure import REST, interleaved, ratios, spread
from benchmarks.speed.workloads import ONE_THREAD, OURS, WORKLOADS, Step, build, maker

POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def cores() -> int:
    return len(os.sched_getaffinity(0))


def fresh(module: str, *arguments: Any, threads: int) -> Any:
    """What `python -m module arguments` prints as JSON, run with so many threads."""
    environment = {**os.environ, **dict.fromkeys(POOLS, str(threads)), "TF_CPP_MIN_LOG_LEVEL": "2"}
    mask = sorted(os.sched_getaffinity(0))[-threads:]
    command = [sys.executable, "-m", module, *map(str, arguments)]
    found = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, mask),
    )
    return json.loads(found.stdout)


def measure(name: str, threads: int, rounds: int, seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = fresh("benchmarks.speed.worker", name, threads, rounds, seconds, threads=threads)
    return found


def main(name: str, threads: int, rounds: int, seconds: float) -> None:
    workload = WORKLOADS[name]
    steps: dict[str, Step] = {}
    missing: dict[str, str] = {}
    for peer in (OURS, *workload.peers, *([ONE_THREAD] if threads > 1 else [])):
        try:
            steps[peer] = maker(workload, peer)(build(workload.config))
            steps[peer].run()
        except Exception as error:  # a peer that does not work here is reported, and the others are measured
            steps.pop(peer, None)
            missing[peer] = f"{type(error).__name__}: {error}".splitlines()[0]
    cpu, wall = process_time(), perf_counter()
    if threads == 1:
        times = interleaved(steps, process_time, rounds, seconds)
    else:
        times = interleaved(steps, perf_counter, rounds, seconds, REST)
    busy = (process_time() - cpu) / (perf_counter() - wall)
    if threads == 1 and busy > 1.1:
        raise SystemExit(f"{name}: {busy:.2f} threads were at work, and only one should have been")
    result = {
        "threads": threads,
        "clock": "CPU" if threads == 1 else "wall",
        "cpu_per_wall": busy,
        "milliseconds": {peer: [1e3 * value for value in spread(values)] for peer, values in times.items()},
        "ratios": {peer: ratios(values, times[OURS]) for peer, values in times.items() if peer != OURS},
        "missing": missing,
    }
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
