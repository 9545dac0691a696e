"""What was measured, as text, as Markdown for the README, and against what must be reached."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.record import table
from benchmarks.speed.startup import STARTS
from benchmarks.speed.tracking import MAX_SHARE
from benchmarks.speed.workloads import ONE_THREAD, OURS, TORCH, WORKLOADS
from minisig.report.tables import columns

KILOBYTE, MEGABYTE = 10**3, 10**6
GROWN = MEGABYTE  # that a process may hold more after thousands of steps: the interpreter's own breath


COSTS = (
    "`minisig --help` takes {help:.1f} times the CPU time of `import click` alone, `import minisig` {imported:.2f} of "
    "`import numpy`. The norms of all gradients at every step of mlp-deep cost {ours:.1%} of the step, in PyTorch "
    "{torch:.1%} of its own. At its peak mlp-deep holds {peak:.0f} MB beyond the imports, PyTorch {torch_peak:.0f} MB; "
    "after {steps:,} further steps no workload of those tried holds more than {grown:.0f} kB more."
)
VERSIONS = (
    "Measured on {cpu}, {cores} cores, load {load:.1f} beforehand; Python {python}, "
    "NumPy {numpy}, SciPy {scipy} with {blas}, PyTorch {torch}, JAX {jax}, scikit-learn {scikit-learn}."
)


class Target(NamedTuple):
    what: str
    wanted: str
    found: float
    met: bool


def targets(results: dict[str, Any]) -> Iterator[Target]:
    """All that can be judged by what was measured."""
    for name, runs in results["workloads"].items():
        for peer, least in WORKLOADS[name].targets.items():
            if ratio := runs.get("1", {}).get("ratios", {}).get(peer):
                yield Target(f"{name}, times {peer}", f"≥ {least:.2f}", ratio[0], ratio[0] >= least)
        for peer in (TORCH, ONE_THREAD):
            # Nothing is proved slower than another as long as the spread has room for both orders.
            if ratio := runs.get("all", {}).get("ratios", {}).get(peer):
                yield Target(f"{name}, all cores, times {peer}", "≥ 1 in the spread", ratio[0], ratio[2] >= 1)
    for what, (_, other, most) in STARTS.items():
        if found := results.get("startup", {}).get(what):
            yield Target(f"{what}, of {other}", f"≤ {most:.2f}", found["ratio"][0], found["ratio"][0] <= most)
    if tracked := results.get("tracking"):
        share = tracked[OURS]["share"]
        yield Target("every gradient norm at every step of mlp-deep", f"≤ {MAX_SHARE:.2f}", share, share <= MAX_SHARE)
    memory = results.get("memory", {})
    if TORCH in (peaks := memory.get("peaks", {}).get("mlp-deep", {})):
        ratio = peaks[OURS] / peaks[TORCH]
        yield Target("peak memory of mlp-deep, of PyTorch's", "≤ 1.00", ratio, ratio <= 1)
    for name, grown in memory.get("grown", {}).items():
        what = f"megabytes {name} holds more after {memory['steps']:,} steps"
        yield Target(what, "≤ 1.00", grown / MEGABYTE, grown <= GROWN)


def text(results: dict[str, Any]) -> str:
    parts = [columns(_workload_rows(results))] if results["workloads"] else []
    parts += [
        f"{name}: no {peer}, {why}"
        for name, runs in results["workloads"].items()
        for run in runs.values()
        for peer, why in run["missing"].items()
    ]
    if shares := results.get("shares"):
        parts.append(columns(_share_rows(shares)))
    if memory := results.get("memory"):
        rows = [["peak memory, MB", ""]]
        rows += [
            [f"{name}, {peer}", f"{peak / MEGABYTE:.1f}"]
            for name, peaks in memory["peaks"].items()
            for peer, peak in peaks.items()
        ]
        rows += [
            [f"{name}, more after {memory['steps']:,} steps", f"{n / MEGABYTE:.2f}"]
            for name, n in memory["grown"].items()
        ]
        parts.append(columns(rows))
    if startup := results.get("startup"):
        rows = [["start-up", "ms CPU", "ratio", "of"]]
        rows += [
            [what, f"{found['milliseconds'][0]:.0f}", _spread(found["ratio"]), STARTS[what][1]]
            for what, found in startup.items()
        ]
        parts.append(columns(rows))
    if tracked := results.get("tracking"):
        rows = [["every gradient norm at every step of mlp-deep", "share of the step"]]
        rows += [[peer, f"{100 * found['share']:.1f} %"] for peer, found in tracked.items()]
        parts.append(columns(rows))
    if growth := results.get("growth"):
        parts.append(columns(_growth_rows(growth)))
    return "\n\n".join(parts)


def _workload_rows(results: dict[str, Any]) -> list[list[str]]:
    rows = [["workload", "threads", "peer", "ms a step", "times ours"]]
    for name, runs in results["workloads"].items():
        for threads, run in runs.items():
            for peer, (ms, *_) in run["milliseconds"].items():
                ratio = run["ratios"].get(peer)
                rows.append([name, threads, peer, f"{ms:.3g}", _spread(ratio) if ratio else ""])
    return rows


def _share_rows(shares: dict[str, dict[str, float]]) -> list[list[str]]:
    kinds = next(iter(shares.values()))
    rows = [["% of a step", *kinds]]
    rows += [[name, *(f"{100 * share:.0f}" for share in found.values())] for name, found in shares.items()]
    return rows


def _growth_rows(growth: dict[str, Any]) -> list[list[str]]:
    rows = [["growth with", "sizes", "ms a step", "time ~", "MB", "memory ~"]]
    for what, found in growth.items():
        rows.append(
            [
                what,
                " ".join(f"{size:,}" for size in found["sizes"]),
                " ".join(f"{ms:.3g}" for ms in found["milliseconds"]),
                f"n^{found['time_exponent']:.2f}",
                " ".join(f"{n / MEGABYTE:.0f}" for n in found["bytes"]),
                f"n^{found['memory_exponent']:.2f}",
            ]
        )
    return rows


def _spread(ratio: Any) -> str:
    return f"{ratio[0]:.2f} ({ratio[1]:.2f} – {ratio[2]:.2f})"


def verdicts(results: dict[str, Any]) -> str:
    rows = [["target", "wanted", "found", ""]]
    rows += [[t.what, t.wanted, f"{t.found:.3f}", "met" if t.met else "MISSED"] for t in targets(results)]
    return columns(rows)


def markdown(results: dict[str, Any]) -> dict[str, str]:
    """The README's tables and sentences, by the names of its marks."""
    startup, tracked, memory = results["startup"], results["tracking"], results["memory"]
    peaks = memory["peaks"]["mlp-deep"]
    costs = COSTS.format(
        help=startup["minisig --help"]["ratio"][0],
        imported=startup["import minisig"]["ratio"][0],
        ours=tracked[OURS]["share"],
        torch=tracked[TORCH]["share"],
        peak=peaks[OURS] / MEGABYTE,
        torch_peak=peaks[TORCH] / MEGABYTE,
        steps=memory["steps"],
        grown=max(memory["grown"].values()) / KILOBYTE,
    )
    versions = VERSIONS.format(**results["machine"])
    return {
        "speed": _ratios(results, "1"),
        "cores": _ratios(results, "all"),
        "shares": table(_share_rows(results["shares"])),
        "costs": costs,
        "growth": table(_growth_rows(results["growth"])),
        "versions": versions,
    }


def _ratios(results: dict[str, Any], threads: str) -> str:
    """A row for every workload, a column for every peer."""
    if not any(threads in runs for runs in results["workloads"].values()):
        return "Not measured yet: `python -m benchmarks` on an idle machine does."
    runs = {name: runs[threads] for name, runs in results["workloads"].items() if threads in runs}
    peers = list(dict.fromkeys(peer for run in runs.values() for peer in run["ratios"]))
    rows = [["step", "ms", *peers]]
    for name, run in runs.items():
        cells = [_spread(run["ratios"][peer]) if peer in run["ratios"] else "–" for peer in peers]
        rows.append([name, f"{run['milliseconds'][OURS][0]:.3g}", *cells])
    return table(rows)
