"""A table of one's own, with all that tables have in them, and the models that are trained on it."""

import csv
import gzip
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from minisig.data import Dataset
from minisig.experiments import suited
from minisig.training.observers import Observer
from minisig.training.run import run

N = 150
TARGETS = {
    "fruit": ("fruit",),
    "grade": ("grade",),
    "price": ("price",),
    "prices": ("price", "tax"),
    "labels": ("ripe", "sold"),
    "double": ("fruit",),
}
OF_KIND = {"double": {"dtype": "float64"}}
TINY = {"iterations": 120, "network.hidden": [8], "log_every": 20, "validate_every": 20, "seed": 1}


def cells(n=N, seed=0):
    """Columns as they stand in a file: numbers and words, with gaps in both."""
    rng = np.random.default_rng(seed)
    weight, colour = rng.normal(100, 20, n).round(3), rng.choice(["red", "green", "blue"], n)
    score = (weight - 100) / 20 + (colour == "red")
    columns = {
        "colour": colour.tolist(),
        "weight": [f"{value:g}" for value in weight],
        "year": [f"{value}" for value in rng.integers(1990, 2020, n)],
        "discount": rng.choice(["10%", "20%", "none given"], n).tolist(),
        "fruit": np.array(["apple", "pear", "plum"])[np.digitize(score, [0.0, 1.0])].tolist(),
        "grade": [f"{value}" for value in 1 + np.digitize(score, [0.0, 1.0])],
        "price": [f"{5000 + 1000 * value:.2f}" for value in score],
        "tax": [f"{3 * value * value:.4f}" for value in score],
        "ripe": ["yes" if value > 0.5 else "no" for value in score],
        "sold": [f"{int(value > -0.5)}" for value in score],
    }
    for row in range(0, n, 15):
        columns["colour"][row] = ""
        columns["weight"][(row + 7) % n] = "NA"
    return columns


def without(columns, *names):
    return {name: values for name, values in columns.items() if name not in names}


def rows_of(columns, rows):
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def write(path, columns):
    """As .csv or .tsv, .gz or not, or as Parquet with columns of numbers."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(typed(columns)), path)
        return path
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if ".tsv" in path.name else ",", lineterminator="\n")
        writer.writerows([columns, *zip(*columns.values(), strict=True)])
    return path


def typed(columns):
    """The same with numbers that are numbers, and None for what is missing."""
    return {name: [_typed(cell) for cell in values] for name, values in columns.items()}


def _typed(cell):
    if cell in ("", "NA"):
        return None
    try:
        return float(cell)
    except ValueError:
        return cell


@dataclass
class Trained:
    """A run in `folder`, and the very network that was trained there."""

    folder: Path
    table: Path
    targets: tuple[str, ...]
    columns: dict[str, list[str]]
    summary: dict[str, Any]
    data: Dataset
    net: Any

    @property
    def model(self):
        return self.folder / "best.safetensors"

    @property
    def inputs(self):
        return without(self.columns, *(name for names in TARGETS.values() for name in names))

    @property
    def test(self):
        """The rows that were held out to test on, the target among them, in the order of the file."""
        return rows_of(self.inputs | {name: self.columns[name] for name in self.targets}, self.data.rows["test"])

    @cached_property
    def logits(self):
        """What the process that trained it says of them."""
        return self.net.forward(self.data.test.x)


class Watching(Observer):
    """Keeps the training."""

    def begin(self, training):
        self.training = training


def settings(kind):
    others = [name for names in TARGETS.values() for name in names if name not in TARGETS[kind]]
    own = {"data.target": TARGETS[kind], "data.ignore": list(dict.fromkeys(others))}
    return TINY | own | OF_KIND.get(kind, {})


def trained(kind, folder, columns=None, **more):
    columns = columns or cells()
    table = write(folder / "shop.csv", columns)
    config, data = suited(str(table), settings(kind) | more)
    watching = Watching()
    summary = run(config, folder / "run", [watching], data=data)
    return Trained(folder / "run", table, TARGETS[kind], columns, summary, data, watching.training.net)
