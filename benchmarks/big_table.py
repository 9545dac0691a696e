"""A table of a million rows: read, trained on for one pass and predicted, by minisig and by pandas with scikit-learn.

python -m benchmarks.big_table                  # some minutes; writes results/big-table.json
python -m benchmarks.big_table --rows 20000     # to see that it works; writes nothing

Every job is a fresh process with one thread; its CPU time and the most memory that it ever held count from its start,
imports included. Both train two layers of 50 sigmoids in batches of as many rows on all rows but 100,000; ours
validates, tests and writes a report beside.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import click
import numpy as np

from benchmarks.record import commit, held, save, unwrapped

ROWS = 1_000_000
REALS, WHOLES, WORDS = 14, 3, (40, 5)
PIECE = 100_000  # rows made at a time
HELD_OUT = 100_000  # at most, as ours does

Parts = dict[str, float]


def write_table(path: Path, rows: int) -> None:
    """Twenty columns with a yes or no that can be learned from the others to some extent."""
    import pandas as pd

    rng = np.random.default_rng(0)
    weights = rng.normal(size=REALS)
    effects = [rng.normal(size=n) for n in WORDS]
    for start in range(0, rows, PIECE):
        n = min(PIECE, rows - start)
        x = rng.normal(size=(n, REALS)) * np.logspace(-2, 3, REALS)
        whole = rng.integers(0, 100, size=(n, WHOLES))
        codes = [rng.integers(0, words, size=n) for words in WORDS]
        score = (x / np.logspace(-2, 3, REALS)) @ weights + x[:, 0] * x[:, -1] / 10 + (whole[:, 0] - 50) / 20
        score += sum(effect[code] for effect, code in zip(effects, codes, strict=True))
        table = {f"real {i}": x[:, i] for i in range(REALS)} | {f"whole {i}": whole[:, i] for i in range(WHOLES)}
        for i, code in enumerate(codes):
            table[f"word {i}"] = np.array([f"word-{j}" for j in range(WORDS[i])])[code]
        table["answer"] = np.where(score + rng.logistic(size=n) > 0, "yes", "no")
        frame = pd.DataFrame(table)
        frame.to_csv(path, mode="a" if start else "w", header=not start, index=False, float_format="%.6g")


@contextmanager
def timed(parts: Parts, name: str) -> Iterator[None]:
    started = process_time()
    yield
    parts[name] = parts.get(name, 0.0) + process_time() - started


def command(*arguments: str) -> None:
    """What the command line does, in this process."""
    from minisig.cli import main

    with redirect_stdout(sys.stderr):
        main([*arguments], standalone_mode=False)


def timing(parts: Parts, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **options: Any) -> Any:
        with timed(parts, name):
            return function(*arguments, **options)

    return counted


def minisig_read(folder: Path, parts: Parts) -> None:
    from minisig.data.frame import read_table

    with timed(parts, "read"):
        read_table(folder / "big.csv")


def minisig_train(folder: Path, parts: Parts) -> None:
    import minisig.data.tables
    import minisig.experiments
    import minisig.training.run

    data, experiments, training = minisig.data.tables, minisig.experiments, minisig.training.run
    data.read_table = timing(parts, "read", data.read_table)  # type: ignore[attr-defined]
    experiments.suited = timing(parts, "load", experiments.suited)
    training.run = timing(parts, "train", training.run)
    command("train", str(folder / "big.csv"), "--epochs", "1", "--out", str(folder / "run"))
    parts["prepare"] = parts.pop("load") - parts["read"]


def minisig_predict(folder: Path, parts: Parts) -> None:
    with timed(parts, "read, predict and write"):
        command("predict", str(folder / "run"), str(folder / "big.csv"), "--out", str(folder / "ours.csv"))


def pandas_read(folder: Path, parts: Parts) -> None:
    import pandas as pd

    with timed(parts, "read"):
        pd.read_csv(folder / "big.csv")


def sklearn_train(folder: Path, parts: Parts) -> None:
    import warnings

    import joblib
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from minisig.experiments import configure
    from minisig.training.files import read_config

    with timed(parts, "read"):
        frame = pd.read_csv(folder / "big.csv")
    learned = frame.iloc[: len(frame) - min(HELD_OUT, round(0.35 * len(frame)))]
    prepared = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
    )
    config = read_config(folder / "run") if (folder / "run").exists() else configure("table", {"data.path": "x.csv"})
    network = MLPClassifier(config.network.hidden, activation="logistic", batch_size=config.batch_size, max_iter=1)
    with timed(parts, "prepare"):
        x = prepared.fit_transform(learned.drop(columns="answer"))
    with timed(parts, "train"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one pass is too few
        network.fit(x, learned["answer"])
    joblib.dump(make_pipeline(prepared, network), folder / "sklearn.joblib")


def sklearn_predict(folder: Path, parts: Parts) -> None:
    import joblib
    import pandas as pd

    with timed(parts, "read, predict and write"):
        model = joblib.load(folder / "sklearn.joblib")
        frame = pd.read_csv(folder / "big.csv")
        answers = model.predict(frame.drop(columns="answer"))
        pd.DataFrame({"prediction": answers}).to_csv(folder / "theirs.csv", index=False)


JOBS: dict[str, Callable[[Path, Parts], None]] = {
    "pandas read_csv": pandas_read,
    "minisig read_table": minisig_read,
    "minisig train": minisig_train,
    "scikit-learn train": sklearn_train,
    "minisig predict": minisig_predict,
    "scikit-learn predict": sklearn_predict,
}
# What is compared with what.
PAIRS = {
    "reading": ("minisig read_table", "pandas read_csv"),
    "training": ("minisig train", "scikit-learn train"),
    "predicting": ("minisig predict", "scikit-learn predict"),
}


def do(job: str, folder: Path) -> dict[str, Any]:
    """What a fresh process does."""
    parts: Parts = {}
    JOBS[job](folder, parts)
    seconds = {name: round(taken, 2) for name, taken in parts.items()}
    return {"cpu_seconds": round(process_time(), 2), "peak_megabytes": round(held("VmHWM") / 1e6), "parts": seconds}


def measure(folder: Path, rows: int) -> dict[str, Any]:
    from benchmarks.speed.worker import fresh

    path = folder / "big.csv"
    write_table(path, rows)
    found = {}
    for job in JOBS:
        found[job] = fresh("benchmarks.big_table", "--job", job, folder, threads=1)
        print(job, found[job], file=sys.stderr, flush=True)
    ratios = {
        what: {name: round(found[ours][name] / found[theirs][name], 2) for name in ("cpu_seconds", "peak_megabytes")}
        for what, (ours, theirs) in PAIRS.items()
    }
    return {"rows": rows, "megabytes": round(path.stat().st_size / 1e6, 1), "jobs": found, "ratios": ratios}


def text(found: dict[str, Any]) -> str:
    from minisig.report.tables import columns

    rows = [["", "CPU seconds", "peak MB", "of which"]]
    for job, result in found["jobs"].items():
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in result["parts"].items())
        rows.append([job, f"{result['cpu_seconds']:.1f}", f"{result['peak_megabytes']:,}", parts])
    ratios = [["minisig's share of the peer's", "CPU seconds", "peak MB"]]
    ratios += [[what, *(f"{ratio:.2f}" for ratio in pair.values())] for what, pair in found["ratios"].items()]
    return f"{found['rows']:,} rows, {found['megabytes']} MB\n\n{columns(rows)}\n\n{columns(ratios)}"


@click.command(help=unwrapped(__doc__))
@click.option("--rows", type=click.IntRange(min=100), default=ROWS)
@click.option("--job", nargs=2, type=str, hidden=True)
def main(rows: int, job: tuple[str, str] | None) -> None:
    if job:
        sys.stdout.write(json.dumps(do(job[0], Path(job[1]))))
        return
    with TemporaryDirectory() as folder:
        found = measure(Path(folder), rows)
    print(text(found))
    if rows == ROWS:
        save("big-table", "python -m benchmarks.big_table", commit=commit(), **found)


if __name__ == "__main__":
    main()
