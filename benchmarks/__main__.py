"""minisig against its peers: `python -m benchmarks`, after `pip install '.[bench]'`."""

import json
import os

# Every library as it comes, before the first is loaded: a CPU that OpenBLAS is told to take this one for, so that bits
# agree between machines, slows down minisig and none of its peers.
os.environ.pop("OPENBLAS_CORETYPE", None)
os.environ.pop("OPENBLAS_L2_SIZE", None)

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from benchmarks.record import machine, save
from benchmarks.speed import growth, memory, report, shares, startup, tracking, worker
from benchmarks.speed.workloads import WORKLOADS

OTHERS = ("shares", "memory", "startup", "tracking", "growth")
LASTING = ("mlp-shallow", "mlp-deep", "copy-rnn-20", "digits")  # workloads that 10,000 steps are made of
FULL = {"rounds": 15, "seconds": 0.2, "steps": 10_000}
QUICK = {"rounds": 5, "seconds": 0.1, "steps": 500}


@click.command(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice([*WORKLOADS, *OTHERS]), metavar="[NAME]...")
@click.option("--threads", type=click.Choice(["1", "all"]), help="One of the two alone; by default both.")
@click.option("--quick", is_flag=True, help="Few and short rounds, to see that it works.")
@click.option("--check", is_flag=True, help="List what must be reached; exit code 1 if something is not.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(names: tuple[str, ...], threads: str | None, quick: bool, check: bool, as_json: bool) -> None:
    """Time minisig, PyTorch, JAX, scikit-learn and the bare matrix products on the same work, in turn.

    \b
    python -m benchmarks                            # all, half an hour; writes benchmarks/results/speed.json
    python -m benchmarks --threads 1                # on a machine with other work to do; writes it too
    python -m benchmarks mlp-deep                   # some; writes nothing
    python -m benchmarks --quick --check
    """
    chosen = names or (*WORKLOADS, *OTHERS)
    settings: dict[str, Any] = QUICK if quick else FULL
    results: dict[str, Any] = {
        "command": "python -m benchmarks" + (f" --threads {threads}" if threads else ""),
        "machine": {**machine(), "threads": threads or "1 and all", "load": os.getloadavg()[0], **_peers()},
        "settings": settings,
        "workloads": {},
    }
    rounds, seconds = settings["rounds"], settings["seconds"]
    counts = {"1": 1, "all": worker.cores()}
    for name in (name for name in WORKLOADS if name in chosen):
        for label, count in counts.items():
            if threads in (None, label):
                _say(f"{name}, threads: {label}")
                run = worker.measure(name, count, rounds, seconds)
                results["workloads"].setdefault(name, {})[label] = run
    if "shares" in chosen:
        _say("shares")
        results["shares"] = shares.measure(4 * rounds)
    if "memory" in chosen:
        _say("memory")
        results["memory"] = {
            "peaks": {name: memory.peaks(name) for name in WORKLOADS},
            "steps": settings["steps"],
            "grown": {name: memory.grown(name, settings["steps"]) for name in LASTING},
        }
    if "startup" in chosen:
        _say("startup")
        results["startup"] = startup.measure(rounds)
    if "tracking" in chosen:
        _say("tracking")
        results["tracking"] = tracking.measure(4 * rounds)
    if "growth" in chosen:
        _say("growth")
        results["growth"] = growth.measure(rounds, seconds)
    if not (names or quick):
        save("speed", **results)
    missed = [target for target in report.targets(results) if not target.met]
    if as_json:
        click.echo(json.dumps({**results, "targets": [target._asdict() for target in report.targets(results)]}))
    else:
        click.echo(report.text(results))
        if check:
            click.echo("\n" + report.verdicts(results))
    if check and missed:
        raise SystemExit(1)


def _say(what: str) -> None:
    click.echo(what, err=True)


def _peers() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in ("torch", "jax", "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
