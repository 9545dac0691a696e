"""`minisig train FILE.csv` beside scikit-learn's own networks, on the same rows of real tables.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.tables          # all, about half an hour; writes results/tables.json
python -m benchmarks.tables iris adult                      # some; the others' results stay
python -m benchmarks.tables --check                         # what was measured: fail if a peer is better by its spread
python -m benchmarks.tables --settings                      # other settings, by the validation parts of other splits

Ours is what the command does of itself. Theirs is a pipeline with the same columns, imputation and categories, and its
training rows are our training and validation rows together: of them it has to hold out its own. "converged" may take
2,000 passes where the default is 200, and "early stopping" too; in a regression both get the target standardised, as
ours does. Each seed is another split of the rows. Tables that other packages hold are downloaded once.
"""

import warnings
from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.record import commit, machine, read, save, unwrapped
from benchmarks.table_files import TABLES, Table, table_file
from benchmarks.table_report import PEERS, beside, result_rows
from minisig.data import Dataset
from minisig.data.cells import MISSING
from minisig.data.prepared import Numeric, TableInputs
from minisig.data.tables import RARE, TableSettings
from minisig.experiments import suited
from minisig.report.tables import columns
from minisig.training.run import run

SEEDS = 5
PASSES = 2000  # at most, of the peers that shall converge
FILLED = "(missing)"


class Rows(NamedTuple):
    """Raw rows as a peer takes them, and the numbers of those to be learned from and of those to be tested on."""

    x: pd.DataFrame
    y: Any
    learned: Any
    tested: Any


def ours(path: Path, table: Table, seed: int, settings: Mapping[str, Any]) -> tuple[Dataset, dict[str, Any]]:
    """The data and the summary of what `minisig train` would do."""
    config, data = suited(str(path), {**table.settings, "data.split": seed, "seed": seed, **settings})
    started = process_time()
    summary = run(config, data=data)
    return data, {**summary, "cpu_seconds": process_time() - started}


def same_rows(path: Path, data: Dataset) -> Rows:
    """The rows of a data set of ours by pandas, proved to be the same by what is to be predicted."""
    inputs = data.prepared
    assert isinstance(inputs, TableInputs)
    (target,) = inputs.target.names
    words = [column.name for column in inputs.columns if not isinstance(column, Numeric)]
    kinds: dict[Any, Any] = dict.fromkeys(words, str)
    if any(isinstance(label, str) for label in inputs.target.classes):
        kinds[target] = str
    frame = pd.read_csv(path, dtype=kinds, na_values=sorted(MISSING), skipinitialspace=True)
    answered, y = np.flatnonzero(frame[target].notna()), frame[target].to_numpy()
    learned, tested = np.sort(np.concatenate([data.rows["train"], data.rows["valid"]])), data.rows["test"]
    if inputs.target.task == "classification":
        same = np.array_equal(np.array(inputs.target.classes, dtype=object)[data.test.y], y[tested])
    else:
        known = inputs.target.centre[0] + inputs.target.scale[0] * data.test.y[:, 0]
        same = np.allclose(known, y[tested].astype(float), rtol=1e-5, atol=1e-5 * inputs.target.scale[0])
    if not same or sorted([*learned, *tested]) != answered.tolist():
        raise SystemExit(f"{path}: pandas does not have the same rows as minisig")
    return Rows(frame[inputs.names], y, learned, tested)


def pipeline(inputs: TableInputs, peer: str, seed: int, **settings: Any) -> Any:
    """Prepared as ours: medians, a category for missing words, one for rare ones."""
    numeric = [column.name for column in inputs.columns if isinstance(column, Numeric)]
    words = [name for name in inputs.names if name not in numeric]
    most = TableSettings().categories + 1  # the one of the rare included
    categories = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=RARE, max_categories=most, sparse_output=False
    )
    filled = SimpleImputer(strategy="constant", fill_value=FILLED)
    prepared = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
            ("words", make_pipeline(filled, categories), words),
        ]
    )
    if peer != "defaults":
        settings = {"max_iter": PASSES, **settings}
    if peer == "early stopping":
        settings = {"early_stopping": True, **settings}
    if inputs.target.task == "classification":
        return Pipeline([("prepared", prepared), ("network", MLPClassifier(random_state=seed, **settings))])
    network = MLPRegressor(random_state=seed, **settings)
    if peer != "defaults":
        network = TransformedTargetRegressor(network, transformer=StandardScaler())
    return Pipeline([("prepared", prepared), ("network", network)])


def theirs(rows: Rows, inputs: TableInputs, peer: str, seed: int, **settings: Any) -> tuple[float, float]:
    """Test error in % or root mean squared error, and CPU seconds of the fit."""
    network = pipeline(inputs, peer, seed, **settings)
    started = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that 200 passes are too few is what the second column is for
        network.fit(rows.x.iloc[rows.learned], rows.y[rows.learned])
    seconds = process_time() - started
    predicted, known = network.predict(rows.x.iloc[rows.tested]), rows.y[rows.tested]
    if inputs.target.task == "classification":
        return 100 * float((predicted != known).mean()), seconds
    return sqrt(float(((predicted - known.astype(float)) ** 2).mean())), seconds


def measure(
    name: str, path: Path, table: Table, seeds: int, settings: Mapping[str, Any], **theirs_too: Any
) -> dict[str, Any]:
    """Results of ours and of every peer on one table, seed by seed."""
    found: dict[str, list[float]] = {"minisig": [], **{peer: [] for peer in PEERS}}
    seconds: dict[str, list[float]] = {who: [] for who in found}
    guessing: list[float] = []
    for seed in range(seeds):
        data, summary = ours(path, table, seed, settings)
        inputs: Any = data.prepared
        metric = "test_error" if inputs.target.task == "classification" else "test_rmse"
        found["minisig"].append(summary[metric])
        seconds["minisig"].append(summary["cpu_seconds"])
        guessing.append(data.baselines["guessing"])
        rows = same_rows(path, data)
        for peer in PEERS:
            result, taken = theirs(rows, inputs, peer, seed, **theirs_too)
            found[peer].append(result)
            seconds[peer].append(taken)
    return {
        "table": name,
        "from": table.package or f"scikit-learn, {table.loader}",
        "rows": len(rows.learned) + len(rows.tested),
        "inputs": inputs.inputs,
        "metric": metric,
        "guessing": guessing,
        "results": found,
        "cpu_seconds": {who: round(mean(values), 2) for who, values in seconds.items()},
    }


@click.command(help=unwrapped(__doc__))
@click.argument("names", nargs=-1, type=click.Choice(list(TABLES)), metavar="[TABLE]...")
@click.option("--check", is_flag=True)
@click.option("--settings", is_flag=True)
def main(names: tuple[str, ...], check: bool, settings: bool) -> None:
    if settings:
        from benchmarks.table_settings import compare

        print(compare(names or tuple(TABLES)))
        return
    rows = {row["table"]: row for row in (read("tables") or {"rows": []})["rows"]}
    made_on = {**machine(), "commit": commit()}  # before results are written, which changes what is checked out
    for name in () if check else names or TABLES:
        found = measure(name, table_file(name), TABLES[name], SEEDS, {})
        rows[name] = {**found, "machine": made_on}  # the other rows may be another's
        print(columns(result_rows([rows[name]])), flush=True)
        ordered = [rows[name] for name in TABLES if name in rows]
        save("tables", "python -m benchmarks.tables", seeds=SEEDS, rows=ordered)
    chosen = [rows[name] for name in names or TABLES if name in rows]
    if not chosen:
        raise SystemExit("nothing was measured yet")
    print(columns(result_rows(chosen)))
    if check and (worse := [row for row in chosen if beside(row).worse]):
        for row in worse:
            peer, difference, error, _ = beside(row)
            print(f"{row['table']}: worse than {peer} by {difference:.3g} ± {error:.2g}")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
