"""Damaged model files, tables and texts, each met by what uses them: predict, test, export, sample, score, train."""

import gzip
import io
import json
import os
import resource
import shutil
import signal
import tracemalloc
import warnings
import zlib
from collections import Counter
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import numpy as np
from click.testing import CliRunner

import minisig as ms
from minisig.cli import main
from minisig.data.frame import table_pieces
from minisig.data.prepared import Noticed, TextInputs
from minisig.data.text import read_text
from minisig.errors import MAX_MESSAGE, MinisigError
from minisig.experiments import suited
from minisig.jsonable import jsonable
from minisig.trained.model import Unseen
from minisig.training.run import run
from tests.data.mutations import CELLS, TEXT, TEXT_WORDS, mutated, one_of, zipped
from tests.faults.damage import MAX_GROWTH, Hang
from tests.faults.runs import kind
from tests.faults.strange import strange_model

MAX_MEMORY = 200 * 2**20
MAX_SECONDS = 10  # of the processor's time, which other processes do not take; and of waiting …
MAX_WAIT = 120  # … however busy the machine is
ROWS = 24  # predicted by a good model
TRAINING = {"iterations": 2, "network.hidden": [4], "optimizer.schedule": "constant"}
BY_HAND = 0.15  # so many by the command line
REFUSED = (1, 2, 3, 4, 5)  # its exit codes
HEAD = ["colour", "size", "weight, g", "day", "sold", "ripe", "price", "kind"]


# Good ones


def good_table(rows=60):
    rng = np.random.default_rng(1)
    columns = [
        rng.choice(["red", "light green", 'so called "blue"', ""], rows).tolist(),
        rng.integers(0, 9, rows).astype(str).tolist(),
        [f"{value:.3f}" for value in rng.uniform(0, 1, rows)],
        [f"2024-01-{1 + i % 28:02}" for i in range(rows)],
        rng.choice(["yes", "no"], rows).tolist(),
        rng.choice(["0", "1"], rows).tolist(),
        [f"{value:.2f}" for value in rng.normal(100, 20, rows)],
        [("apple", "pear", "plum")[i % 3] for i in range(rows)],
    ]
    return [HEAD, *map(list, zip(*columns, strict=True))]


def written(table, delimiter=","):
    def quoted(cell):
        return '"' + cell.replace('"', '""') + '"' if delimiter in cell or '"' in cell else cell

    return "".join(delimiter.join(map(quoted, row)) + "\n" for row in table)


def parquet_of(columns):
    import pyarrow as pa
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays([*columns.values()], names=[*columns]), out)
    return out.getvalue()


def arrow_columns(rows):
    import pyarrow as pa

    columns = dict(zip(HEAD, map(list, zip(*rows, strict=True)), strict=True))
    numbers = ("size", "weight, g", "price")
    return {name: pa.array([float(x) for x in cells] if name in numbers else cells) for name, cells in columns.items()}


TABLE = good_table()
CSV = written(TABLE)
PLAIN = "".join(",".join(map(str, row)) + "\n" for row in 5 * np.arange(ROWS * 7).reshape(ROWS, 7) % 8)


def good_models(folder):
    """The content of a good model file of every kind, and the rows that it predicts for."""
    folder.mkdir()
    fruit, pixels, floats = (str(folder / name) for name in ("fruit.csv", "pixels.npz", "floats.npz"))
    (folder / "fruit.csv").write_text(CSV)
    x, y = np.random.default_rng(2).integers(0, 256, (40, 6), dtype=np.uint8), np.arange(40) % 3
    np.savez(pixels, x_train=x.reshape(40, 2, 3), y_train=y + 5)
    np.savez(floats, x_train=x / 7.0, y_train=y)
    kinds = {
        "classes": (fruit, {}),
        "labels": (fruit, {"data.target": ["sold", "ripe"], "network.dropout": 0.2}),
        "numbers": (fruit, {"data.target": ["price"], "network.activation": "relu", "network.init": "lsuv"}),
        "several numbers": (fruit, {"data.target": ["price", "weight, g"], "dtype": "float64"}),
        "pixels": ("digits", {"data.path": pixels}),
        "floats": ("digits", {"data.path": floats, "network.hidden": []}),
    }
    configs = {name: ms.configure(what, TRAINING | own) for name, (what, own) in kinds.items()}
    (folder / "mine.txt").write_text(TEXT.decode() * 30)
    for tokens in ("characters", "bytes"):
        small = {"data.tokens": tokens, "network.model": "gru", "network.init": "glorot", "batch_size": 4}
        configs[tokens] = ms.configure(str(folder / "mine.txt"), TRAINING | small)
    configs |= {"words": kind("text", folder / "words"), "symbols": kind("lstm", folder)}
    found = {}
    for name, config in configs.items():
        run(config, folder / name)
        found[name] = (folder / name / "best.safetensors").read_bytes()
    return found


# Use


class Place:
    """A folder to stand in; whatever happens in it, nothing but what was put there is there in the end."""

    def __init__(self, folder):
        self.path = folder / "place"
        self.path.mkdir()
        self.laid = {}

    def lay(self, **files):
        for name in self.laid.keys() - files.keys():
            (self.path / name).unlink()
        for name, content in files.items():
            if self.laid.get(name) != content:
                (self.path / name).write_bytes(content)
        self.laid = files

    def changes(self):
        there = {path.name: path.is_file() and path.read_bytes() for path in self.path.iterdir()}
        return sorted(name for name in there.keys() | self.laid.keys() if there.get(name) != self.laid.get(name))

    def fate(self, use):
        """What became of it, "read" or "refused" or else what is wrong with that."""
        tracemalloc.start()
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        signal.alarm(MAX_WAIT)
        try:
            use()
            fate = "read"
        except MinisigError as error:
            said = str(error)
            fine = 10 < len(said) <= MAX_MESSAGE and len(said.splitlines()) == 1
            fate = "refused" if fine else f"said {said[:200]!r}"
        except (Exception, Hang) as error:
            fate = f"{type(error).__name__}: {str(error)[:200]}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if changed := self.changes():
            fate = f"{', '.join(changed)} changed, and {fate}"
            self.lay()
        return fate if memory < MAX_MEMORY else f"{memory >> 20} MB, and {fate}"


def require(true, *what):
    """Not assert, which a test of its own would rewrite."""
    if not true:
        raise ValueError("not " + " ".join(map(str, what)))


def predicted(model, pieces, rows=None):
    """Every row has an answer, finite or one of the classes, and probabilities that are some."""
    N = 0
    for columns in pieces:
        z = model.logits(model.encode(columns, Noticed()))
        answers = model.answers(z)
        N += len(answers)
        if model.task == "regression" or (model.task == "labels" and answers.dtype.kind != "O"):
            require(np.isfinite(answers).all(), "finite")
        else:
            require({*answers.ravel().tolist()} <= {*model.classes}, "classes")
        if model.task != "regression":
            p = model.probabilities(z)
            require(p.shape == (len(answers), model.info.outputs), "of its shape", p.shape)
            require(np.isfinite(p).all() and p.min(initial=0) >= 0 and p.max(initial=1) <= 1 + 1e-9, "probabilities")
    require(rows is None or rows == N, "all rows", N)


def tested(model, pieces):
    found = model.tested(pieces)
    require(jsonable(found) == found, "finite", found)


def scored(model, content):
    found = model.score(content if model.text.tokens == "bytes" else content.decode(errors="replace"))
    require(np.isfinite([*found.values()]).all() and found["perplexity"] >= 1, "a perplexity", found)


def by_hand(*arguments):
    """By the command line; what a file says does not reach the terminal as commands to it."""
    with patch("minisig.report.page.can_report", lambda: False):
        result = CliRunner().invoke(main, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    require(all(c.isprintable() or c == "\n" for c in result.stderr), "printable", repr(result.stderr[:100]))
    if result.exit_code:
        require(result.exit_code in REFUSED and len(errors) == 1, "one error", result.exit_code, result.stderr[-200:])
        raise MinisigError(errors[0])
    require(not errors, "without errors", errors)
    return result.stdout


def json_by_hand(*arguments):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(by_hand(*arguments, "--json"), parse_constant=refuse)


def used_model(rng, rows):
    """The model in this folder, which may be anything, on good rows or a good text."""
    if rng.random() < BY_HAND:
        match rng.integers(6):
            case 0:
                said = by_hand("predict", "model.safetensors", "rows.csv", *["--proba"] * int(rng.integers(2)))
                require(len(said.splitlines()) >= rows + 1, "all rows", said[:100])
            case 1:
                require(
                    len(json_by_hand("predict", "model.safetensors", "rows.csv")["predictions"]) == rows, "all rows"
                )
            case 2:
                json_by_hand("test", "model.safetensors", "rows.csv")
                by_hand("test", "model.safetensors", "rows.csv")
            case 3:
                exported(lambda: json_by_hand("export", "model.safetensors", "it.onnx"))
            case 4:
                require(json_by_hand("sample", "model.safetensors", "--length", "5")["tokens"] == 5, "five tokens")
            case 5:
                json_by_hand("score", "model.safetensors", "rows.txt", "--lines")
        return
    model = ms.load("model.safetensors")
    require(all(np.isfinite(w).all() for w in model.net.params.values()), "finite")
    str(model), model.columns, model.classes
    if model.task == "sequences":
        if isinstance(model.prepared, TextInputs):
            require(isinstance(model.sample("the", 5), str), "a text")
            scored(model, TEXT)
        return
    names = [*model.columns, *model.targets]
    predicted(model, table_pieces(Path("rows.csv"), names, 10), rows)
    if rng.random() < 0.5:
        tested(model, table_pieces(Path("rows.csv"), names, 10))
    if rng.random() < 0.1:
        exported(lambda: model.export("it.onnx"))


def exported(export):
    """What it writes is taken by onnx, which checks it; here it is only thrown away."""
    try:
        if find_spec("onnx"):
            export()
    finally:
        Path("it.onnx").unlink(missing_ok=True)


# Tables

WORDS = [cell.encode() for cell in CELLS] + [
    b"\x1b[31m",
    b"\x80\x81",
    b"\xff\xfe",
    "é".encode("utf-16"),
    b"=1+1",
    b"<script>",
]
DELIMITERS = {"csv": ",", "tsv": "\t", "dat": "|", "data": ";"}


def strange_text(rng, delimiter):
    """A table as text: cells, rows or columns of it strange, or its bytes."""
    table = [[*row] for row in TABLE[: one_of([2, 12, 61], rng)]]
    for _ in range(rng.integers(4)):
        row, column = int(rng.integers(len(table))), int(rng.integers(len(HEAD)))
        match rng.integers(10):
            case 0:
                table[row] = table[row][:column]
            case 1:
                table[row] = table[row] + [one_of(CELLS, rng)]
            case 2:
                table.insert(row, [one_of(CELLS, rng)] * int(rng.integers(12)))
            case 3:
                del table[row + 1 :]
            case 4:
                for cells in table:
                    del cells[column:]
            case 5:
                for cells in table[int(rng.integers(2)) :]:
                    cells[column : column + 1] = [one_of(CELLS, rng) if rng.random() < 0.5 else "1e308"]
            case 6:
                table = table[:1] + table[1:] * int(rng.integers(1, 30))
            case 7:
                table[0] = [one_of(CELLS, rng)] * len(HEAD)
            case _:
                table[row][column : column + 1] = [one_of(CELLS, rng)]
    text = written(table or [[]], delimiter).replace("\n", one_of(["\n", "\n", "\n", "\r\n", "\r"], rng))
    content = text.encode(one_of(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"], rng))
    return mutated(content, rng, WORDS) if rng.random() < 0.5 else content


def strange_gzip(rng):
    if rng.random() < 0.4:
        return gzip.compress(strange_text(rng, ","), mtime=0)
    return mutated(zipped(CSV.encode(), rng), rng)


def strange_parquet(rng):
    """A Parquet file of columns that nobody expects, or of damaged bytes."""
    import pyarrow as pa

    columns = arrow_columns(TABLE[1 : one_of([2, 12, 61], rng)])
    n = len(columns["kind"])
    if rng.random() < 0.6:
        return mutated(parquet_of(columns), rng)
    for _ in range(rng.integers(1, 4)):
        kinds = [
            lambda: pa.array([None] * n),
            lambda: pa.array([[1.0, 2.0]] * n),
            lambda: pa.array([{"a": 1, "b": "x"}] * n),
            lambda: pa.array([[("k", 1)]] * n, pa.map_(pa.string(), pa.int64())),
            lambda: pa.array([2**63 - 1 - i for i in range(n)]),
            lambda: pa.array([2**64 - 1 - i for i in range(n)], pa.uint64()),
            lambda: pa.array([np.nan, *[np.inf] * (n - 1)]),
            lambda: pa.array([1e308 * (-1) ** i for i in range(n)]),
            lambda: pa.array(np.arange(n, dtype=np.float16)),
            lambda: pa.array([i % 2 == 0 for i in range(n)]),
            lambda: pa.array(
                range(n), pa.timestamp(one_of(["s", "ms", "us", "ns"], rng), one_of([None, "UTC", "+23:59"], rng))
            ),
            lambda: pa.array([one_of([0, 2**62, -(2**62)], rng)] * n, pa.timestamp("us")),
            lambda: pa.array([one_of([0, 2**31 - 1, -(2**31)], rng)] * n, pa.date32()),
            lambda: pa.array(range(n), pa.duration("ns")),
            lambda: pa.array([i * 1000 for i in range(n)], pa.time32("ms")),
            lambda: pa.array(range(n)).cast(pa.decimal128(38, 2)),
            lambda: pa.array([b"\xff\x00%d" % i for i in range(n)]),
            lambda: pa.array([f"{i % 3}" * 12_000 for i in range(n)]),
            lambda: pa.array([one_of(CELLS, rng) for _ in range(n)]),
            lambda: pa.array([one_of(["a", "b"], rng) for _ in range(n)]).dictionary_encode(),
            lambda: pa.array([bytes(8)] * n, pa.binary(8)),
        ]
        name = one_of([*columns, "", "\x1b[31m", "a\nb", "\0", "x" * 3000], rng)
        columns[name] = one_of(kinds, rng)()
    return parquet_of(columns)


def strange_table(name, rng):
    if name == "parquet":
        return strange_parquet(rng)
    return strange_gzip(rng) if name == "csv.gz" else strange_text(rng, DELIMITERS[name])


def used_table(rng, name):
    """The table in this folder, which may be anything, for a good model or for training."""
    file = f"it.{name}"
    hand = rng.random() < BY_HAND
    match rng.integers(3):
        case 0 if hand:
            said = by_hand("predict", "model.safetensors", file, *["--proba"] * int(rng.integers(2)))
            require(said.startswith("prediction"), "a table", said)
        case 1 if hand:
            json_by_hand("test", "model.safetensors", file)
        case 2 if hand:
            try:
                json_by_hand("train", file, "--iterations", "2", "--hidden", "3", "--out", "run")
            finally:
                shutil.rmtree("run", ignore_errors=True)
        case 2:
            config, data = suited(file, {"iterations": 2, "network.hidden": [3]})
            for part in (data.train, data.valid, data.test):
                require(np.isfinite(part.x).all() and np.isfinite(part.y).all() and len(part.x), "finite")
            require(all(line for line in data.about), "told")
            summary = run(config, data=data)
            require(jsonable(summary) == summary, "finite", summary)
        case how:
            model = ms.load("model.safetensors")
            names = [*model.columns, *model.targets]
            (predicted, tested)[how](model, table_pieces(Path(file), names, 10))


def used_text(rng, name):
    """The text in this folder, which may be anything."""
    file, hand = f"it.{name}", rng.random() < BY_HAND
    match rng.integers(3):
        case 0 if hand:
            json_by_hand("score", "model.safetensors", file, *["--lines"] * int(rng.integers(2)))
        case 1 if hand:
            by_hand("test", "model.safetensors", file)
        case 2:
            tokens = one_of(["words", "characters", "bytes"], rng)
            small = {"iterations": 2, "network.hidden": [3], "batch_size": 2, "data.steps": 5, "data.tokens": tokens}
            summary = run(suited(file, small)[0])
            require(jsonable(summary) == summary, "finite", summary)
        case _:
            scored(ms.load("model.safetensors"), read_text(Path(file), file))


# The campaign


def campaign(place, kinds, numbers, lay, use):
    """Trials of these numbers of every kind; the figures and the misses."""
    figures, misses = Counter(), []

    def give_up(number, frame):
        raise Hang(f"more than {MAX_SECONDS} s")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handlers = {number: signal.signal(number, give_up) for number in (signal.SIGPROF, signal.SIGALRM)}
    elsewhere = {name: str(place.path / "nothing") for name in ("MINISIG_DATA", "XDG_CACHE_HOME")}
    with chdir(place.path), patch.dict(os.environ, elsewhere), warnings.catch_warnings():
        warnings.simplefilter("ignore", Unseen)  # which is how it is told
        for name in kinds:
            for number in numbers:
                rng = np.random.default_rng([number, zlib.crc32(name.encode())])
                lay(name, rng)
                fate = place.fate(lambda rng=rng, name=name: use(name, rng))
                fine = fate in ("read", "refused")
                figures[f"{name} {fate if fine else 'missed'}"] += 1
                if not fine:
                    misses.append(f"{name} {number}: {fate}")
    for number, handler in handlers.items():
        signal.signal(number, handler)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if more > MAX_GROWTH:
        misses.append(f"the process grew by {more >> 10} MB")
    return figures, misses


def damaged_models(folder, count):
    """So many damaged model files of every kind, each used on good rows."""
    goods, place = good_models(folder / "good"), Place(folder)
    rows = {name: (PLAIN if name in ("pixels", "floats") else written(TABLE[: ROWS + 1])).encode() for name in goods}

    def lay(name, rng):
        model = strange_model(goods[name], rng)
        place.lay(**{"model.safetensors": model, "rows.csv": rows[name], "rows.txt": TEXT})

    return campaign(place, goods, range(count), lay, lambda name, rng: used_model(rng, ROWS))


def damaged_tables(folder, count):
    """So many damaged tables and texts of every kind, each used with a good model or trained on."""
    goods, place = good_models(folder / "good"), Place(folder)
    tables, texts = ("classes", "labels", "numbers", "several numbers"), ("words", "characters", "bytes")

    def lay(name, rng):
        if "txt" in name:
            content = mutated(TEXT * one_of([1, 5], rng), rng, [word.encode() for word in TEXT_WORDS])
            if name.endswith("gz"):
                content = gzip.compress(content, mtime=0) if rng.random() < 0.4 else mutated(zipped(TEXT, rng), rng)
            place.lay(**{"model.safetensors": goods[one_of(texts, rng)], f"it.{name}": content})
        else:
            place.lay(**{"model.safetensors": goods[one_of(tables, rng)], f"it.{name}": strange_table(name, rng)})

    def use(name, rng):
        (used_text if "txt" in name else used_table)(rng, name)

    kinds = ["csv", "tsv", "dat", "data", "csv.gz", *["parquet"] * bool(find_spec("pyarrow")), "txt", "txt.gz"]
    return campaign(place, kinds, range(count), lay, use)
