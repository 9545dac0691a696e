"""The fault campaign: runs killed and resumed, disks that fail, files that are damaged, workers that die.

python -m benchmarks.faults                 # all, ten to twenty minutes; writes results/faults.json
python -m benchmarks.faults kills --short   # some, a few of each; writes nothing

Prints a figure for everything that was done to minisig, and ends with exit code 1 if it did not bear one of them:
every run must end with the bits of the undisturbed one, every damaged file be read to something valid or refused.
"""

import os
import warnings
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import click

from benchmarks.record import save, unwrapped

# name: the module and function of tests/faults that does it, its arguments in short and in full. Those that fork are
# first, for after the others the process has threads.
PARTS: dict[str, tuple[str, tuple[Any, ...], tuple[Any, ...]]] = {
    "kills": ("kills:kills", (10, ("dropout", "augmented", "text")), (240,)),
    "short-files": ("writes:short_files", (("digits",), 6), (("digits", "text-lstm"), 60)),
    "failing-writes": ("writes:failing_writes", (("text",), 6), ()),
    "small-disks": ("writes:small_disks", (("xor",),), (("xor", "digits", "text-lstm"),)),
    "damaged-files": ("damage:damaged_files", (40,), (1500,)),
    "damaged-models": ("trained:damaged_models", (25,), (1400,)),
    "damaged-tables": ("trained:damaged_tables", (25,), (1400,)),
    "damaged-data": ("damage:damaged_data", (1,), (1,)),
    "dying-workers": ("kills:dying_workers", (10, 2), (150, 12)),
}


@click.command(help=unwrapped(__doc__))
@click.argument("names", nargs=-1, type=click.Choice(list(PARTS)), metavar="[PART]...")
@click.option("--short", is_flag=True, help="A few of each, and nothing is written.")
def main(names: tuple[str, ...], short: bool) -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy comes, whose threads would not survive a fork
    warnings.simplefilter("error")
    results: dict[str, Any] = {}
    missed = 0
    for name in names or PARTS:
        function, *arguments = PARTS[name]
        part = resolve_name(f"tests.faults.{function}")
        started = perf_counter()
        with TemporaryDirectory() as folder:
            figures, misses = part(Path(folder), *arguments[0 if short else 1])
        results[name] = {**figures, "misses": len(misses), "seconds": round(perf_counter() - started)}
        click.echo(f"{name}: {', '.join(f'{what} {count:,}' for what, count in results[name].items())}")
        for miss in misses[:20]:
            click.echo(f"    {miss}", err=True)
        missed += len(misses)
    if not short and not names:
        save("faults", "python -m benchmarks.faults", parts=results)
    if missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
