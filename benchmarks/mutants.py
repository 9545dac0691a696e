"""Mutants: one operator, number or decorator of a formula is changed, and the tests shall notice.

python -m benchmarks.mutants                            # 200, ten minutes on two cores; writes results/mutants.json
python -m benchmarks.mutants --count 20 --seed 1        # some others; writes nothing

Places are drawn from activations/, layers/, losses/, optimizers/, schedules.py, gradients.py, initializers/ and
theory/, and at each of them one of the changes that Cosmic Ray knows. It is made in a copy of the project, where the
tests of these rooms and of those that are built on them run until one fails, or for too long. Those that no test
noticed are listed; some of them change no result.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from time import perf_counter

import click
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from benchmarks.record import save, unwrapped

ROOT = Path(__file__).parent.parent
ROOMS = ("activations", "layers", "losses", "optimizers", "schedules.py", "gradients.py", "initializers", "theory")
TESTS = (
    *("theory", "initializers", "test_gradients.py", "activations", "layers"),
    *("losses", "optimizers", "test_schedules.py", "test_trace.py", "test_checks.py", "test_network.py", "diagnostics"),
)
COUNT = 200
PATIENCE = 5  # times what the tests take if nothing is changed

Place = tuple[int, int]  # line and column


@dataclass(frozen=True)
class Mutant:
    path: Path  # in the project
    operator: str  # Cosmic Ray's name for the change …
    occurrence: int  # … and at which of the places in the file where it can be made

    def code(self) -> str:
        """The whole file with the change in it."""
        source = (ROOT / self.path).read_text(encoding="utf-8")
        return str(mutate_code(source, get_operator(self.operator)(), self.occurrence))

    def __str__(self) -> str:
        before, after = (ROOT / self.path).read_text(encoding="utf-8").splitlines(), self.code().splitlines()
        line = next(i for i, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
        return f"{self.path}:{line + 1}: {before[line].strip()}  →  {after[line].strip()}"


def mutants(path: Path) -> dict[Place, list[Mutant]]:
    """All changes that can be made to a file, by their places; type annotations, which compute nothing, left out."""
    source = (ROOT / path).read_text(encoding="utf-8")
    nodes, annotations = list(ast_nodes(get_ast(source))), list(_annotations(ast.parse(source)))
    found: dict[Place, list[Mutant]] = {}
    for name in operator_names():
        if get_operator(name).arguments():  # for which one has to name variables
            continue
        places = [start for node in nodes for start, _ in get_operator(name)().mutation_positions(node)]
        for occurrence, place in enumerate(places):
            if not any(start <= place < end for start, end in annotations):
                found.setdefault(place, []).append(Mutant(path, name, occurrence))
    return found


def _annotations(tree: ast.AST) -> Iterator[tuple[Place, Place]]:
    """Where they begin and end."""
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


def drawn(count: int, seed: int) -> tuple[list[Mutant], int]:
    """So many mutants, each of another place, and how many places there are."""
    rng = random.Random(seed)
    files = [
        file for room in ROOMS for file in sorted((ROOT / "minisig" / room).glob("*.py")) or [ROOT / "minisig" / room]
    ]
    places = [changes for file in files for changes in mutants(file.relative_to(ROOT)).values()]
    return [rng.choice(changes) for changes in rng.sample(places, min(count, len(places)))], len(places)


def copied(to: Path) -> Path:
    """What the tests need of the project."""
    for name in ("minisig", "tests"):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)
    return to


def passes(project: Path, first: str | None = None, patience: float | None = None) -> bool:
    """Whether all tests do, within `patience` seconds; those of the room `first` run before the others."""
    chosen = [f"tests/{name}" for name in sorted(TESTS, key=lambda name: name.removeprefix("test_") != first)]
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider", *chosen]
    # The copy before what is installed, and no compiled files: two changes of one second have the same time.
    settings = {"PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, cwd=project, env=os.environ | settings, capture_output=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def noticed(mutant: Mutant, project: Path, patience: float) -> bool:
    """Whether a test fails when the change is made in this copy of the project, which is mended afterwards."""
    path, room = project / mutant.path, mutant.path.parts[1]
    source = path.read_text(encoding="utf-8")
    path.write_text(mutant.code(), encoding="utf-8")
    try:
        return not passes(project, room, patience)
    finally:
        path.write_text(source, encoding="utf-8")


@click.command(help=unwrapped(__doc__), context_settings={"show_default": True})
@click.option("--count", type=click.IntRange(min=1), default=COUNT, help="Mutants.")
@click.option("--seed", type=int, default=0, help="Of the draw.")
@click.option("--workers", type=click.IntRange(min=1), default=os.cpu_count(), help="Copies to try them in.")
def main(count: int, seed: int, workers: int) -> None:
    chosen, places = drawn(count, seed)
    with TemporaryDirectory() as folder:
        copies: Queue[Path] = Queue()
        for i in range(workers):
            copies.put(copied(Path(folder) / str(i)))
        started = perf_counter()
        if not passes(Path(folder) / "0"):
            raise click.ClickException("the tests fail before anything is changed")
        patience = PATIENCE * (perf_counter() - started)

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return noticed(mutant, copy, patience)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(workers) as pool:
            outcomes = list(pool.map(tried, chosen))
    alive = sorted(str(mutant) for mutant, killed in zip(chosen, outcomes, strict=True) if not killed)
    print(f"{len(chosen) - len(alive)} of {len(chosen)} noticed, drawn from {places:,} places; not noticed:")
    print("\n".join(alive))
    if (count, seed) == (COUNT, 0):
        save("mutants", "python -m benchmarks.mutants", mutants=len(chosen), places=places, alive=alive)


if __name__ == "__main__":
    main()
