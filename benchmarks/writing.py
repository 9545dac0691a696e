"""`minisig train text`, the embedded tales character by character, beside counts of n-grams: bits per character.

python -m benchmarks.writing            # ten minutes on two cores; writes results/writing.json
python -m benchmarks.writing speed      # beside PyTorch, one thread, two minutes; writes results/writing-speed.json
python -m benchmarks.writing search     # other settings, by the validation text and another seed; twelve minutes

Unigrams, bigrams and Kneser–Ney have the same training text, alphabet and token before the first. The order of the best
Kneser–Ney, and whether each count has a discount of its own, are chosen by the validation text. The networks are what
the command trains of itself and with --model; each is selected by the validation text, and the test text scored once.
"""

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import click
import numpy as np

from benchmarks.kneser_ney import KneserNey
from benchmarks.record import commit, machine, save, unwrapped
from benchmarks.speed.workloads import OURS, TORCH
from minisig.data import Dataset, load
from minisig.data.prepared import TextInputs
from minisig.diagnostics.writing import Drawing
from minisig.experiments import configure
from minisig.report.tables import columns
from minisig.seeds import stream
from minisig.trained.model import load as load_model
from minisig.training.run import run

SEEDS = 2
NETWORKS = {"rnn": "RNN of sigmoids", "lstm": "LSTM", "gru": "GRU"}
ORDERS = range(2, 11)  # of Kneser–Ney
FIVE = 5
ROUNDS, SECONDS = 15, 0.4  # of the speed
PROMPT, LENGTH, TEMPERATURE = "Once upon a time", 300, 0.7
KEPT = ("iterations", "best_iteration", "seconds", "valid_bits", "test_bits")


def counted(data: Dataset) -> list[dict[str, Any]]:
    """Unigrams, bigrams, Kneser–Ney of order 5 and what is best of it by the validation text."""
    bits = {
        (order, modified): KneserNey(data.train.tokens, data.classes, order, modified=modified).bits(data.valid.tokens)
        for order in ORDERS
        for modified in (True, False)
    }
    best = min(bits, key=bits.__getitem__)
    five = min(((FIVE, True), (FIVE, False)), key=bits.__getitem__)
    rows = [_counted("unigrams", data, 1), _counted("bigrams", data, 2, bits[2, True] <= bits[2, False])]
    rows += [_counted(f"Kneser–Ney, order {order}", data, order, modified) for order, modified in (five, best)]
    tried = [{"order": o, "modified": m, "valid_bits": found} for (o, m), found in bits.items()]
    return [*rows[:-1], rows[-1] | {"tried": tried}]


def _counted(name: str, data: Dataset, order: int, modified: bool = True) -> dict[str, Any]:
    started = perf_counter()
    model = KneserNey(data.train.tokens, data.classes, order, modified=modified)
    found = {"valid_bits": model.bits(data.valid.tokens), "test_bits": model.bits(data.test.tokens)}
    seconds = perf_counter() - started
    settings = {"order": order, "modified": modified}
    size = sum(len(level.grams) for level in model.levels)
    return {"model": name, "settings": settings, "size": size, "runs": [found | {"seconds": seconds}]} | {
        "sample": _sample(model, data.prepared)
    }


def _sample(model: KneserNey, text: Any) -> str:
    assert isinstance(text, TextInputs)
    rng, drawing = stream(0, "sample"), Drawing(TEMPERATURE)
    tokens = [text.start, *text.encode(PROMPT).tolist()]
    for _ in range(LENGTH):
        tokens.append(drawing.token(np.log(model.following(np.array(tokens[-model.order :]))), rng))
    return text.decode(tokens[1 + len(PROMPT) :])


def trained(model: str, seeds: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What `minisig train text --model MODEL` comes to, and what the first seed's writes."""
    runs = []
    for seed in range(seeds):
        config = configure("text", {"network.model": model, "seed": seed, **settings})
        with TemporaryDirectory() as folder:
            started = process_time()
            summary = run(config, Path(folder) / "run")
            runs.append({name: summary[name] for name in KEPT} | {"cpu_seconds": process_time() - started})
            if seed == 0:
                found = load_model(Path(folder) / "run")
                size = sum(w.size for w in found.net.params.values())
                written = found.sample(PROMPT, LENGTH, temperature=TEMPERATURE, seed=0)
    chosen = {
        "init": config.network.init,
        "hidden": config.network.hidden,
        "dropout": config.network.dropout,
        "learning_rate": config.optimizer.learning_rate,
        "batch_size": config.batch_size,
        "iterations": config.iterations,
    }
    return {"model": NETWORKS[model], "settings": chosen, "size": size, "runs": runs, "sample": written}


def result_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    found = [["", "parameters or n-grams", "validation", "test bits per character, each seed", "mean", "CPU seconds"]]
    for row in rows:
        valid, test = ([run[name] for run in row["runs"]] for name in ("valid_bits", "test_bits"))
        seconds = [run.get("cpu_seconds", run["seconds"]) for run in row["runs"]]
        each = ", ".join(f"{bits:.3f}" for bits in test)
        taken = f"{max(seconds):.0f}" if max(seconds) >= 1 else "< 1"
        found.append([row["model"], f"{row['size']:,}", f"{mean(valid):.3f}", each, f"{mean(test):.3f}", taken])
    return found


def measure_speed() -> None:
    from benchmarks.speed import writing

    about: dict[str, Any] = {"machine": machine() | {"threads": "1", "torch": version("torch")}, "commit": commit()}
    found = writing.measure(ROUNDS, SECONDS)
    save("writing-speed", "python -m benchmarks.writing speed", **about, **found)
    print(columns(speed_rows(found)))


def speed_rows(found: dict[str, Any]) -> list[list[str]]:
    rows = [["characters a second, one thread", OURS, TORCH, "times PyTorch's"]]
    for what in ("learning", "writing"):
        each = [f"{found[what]['characters_per_second'][peer]:,}" for peer in (OURS, TORCH)]
        median, low, high = found[what]["ratios"][TORCH]
        rows.append([what, *each, f"{median:.2f} ({low:.2f} – {high:.2f})"])
    return rows


def measure() -> None:
    made_at = {"commit": commit(), "load": round(os.getloadavg()[0], 1)}
    data = load(configure("text").data)
    rows = counted(data)
    print(columns(result_rows(rows)), flush=True)
    for model in NETWORKS:
        rows.append(trained(model, SEEDS, {}))
        print(columns(result_rows(rows[-1:])[1:]), flush=True)
    about = {"about": data.about, "prompt": PROMPT, "temperature": TEMPERATURE}
    save("writing", "python -m benchmarks.writing", **made_at, **about, rows=rows)
    print("\n" + columns(result_rows(rows)))
    for row in rows:
        print(f"\n{row['model']}: {PROMPT}{row['sample']}")


@click.command(help=unwrapped(__doc__))
@click.argument("part", type=click.Choice(["speed", "search"]), required=False)
def main(part: str | None) -> None:
    if part == "search":
        from benchmarks.writing_settings import compare

        print(compare())
    elif part == "speed":
        measure_speed()
    else:
        measure()


if __name__ == "__main__":
    main()
