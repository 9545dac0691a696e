"""A model as ONNX, run by onnxruntime on rows that it was not trained on: the answers are those of the model itself."""

import json
import os
import sys
import warnings

import numpy as np
import pytest
from msgspec.structs import replace

import minisig as ms
from minisig.activations import ACTIVATIONS
from minisig.data.cells import MISSING
from minisig.data.prepared import Numeric
from minisig.errors import CannotWrite, MinisigError, UsageError
from minisig.network import Network
from minisig.trained import onnx as module
from minisig.trained.model import Model, Unseen
from tests.cli.command import cli, strict

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'minisig[onnx]'")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

N = 400
TOLERANCE = 1e-5
WORDS = {
    "colour": ["red", "green", "blue"],
    "shop": ["Nord", "Süd", "  West"],
    "size": ["s", "m"],
    "day": ["Mon", "Tue"],
}


def table(seed=0):
    """Columns that need one another; of categories with and without rare ones, with and without missing ones."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.choice(words, N).tolist() for name, words in WORDS.items()}
    columns |= {"weight": rng.normal(size=N).tolist(), "year": (1e6 + rng.uniform(-1, 1, N)).tolist()}
    columns |= {"count": rng.integers(0, 50, N).astype(float).tolist()}
    warm = np.array(columns["colour"]) == "red"
    score = 2 * warm + np.array(columns["weight"]) + 2 * (np.array(columns["year"]) - 1e6)
    for i in range(0, N, 20):
        columns["colour"][i] = f"rare {i}"  # has others and missing ones
        columns["colour"][i + 1] = "N/A"
        columns["shop"][i + 2] = f"rare {i}"  # others alone
        columns["day"][i + 3] = ""  # missing ones alone
        columns["weight"][i + 4] = float("nan")
    columns["fruit"] = [("apple", "pear", "plum")[place] for place in np.digitize(score, [0.5, 2.0])]
    columns["price"] = (5e6 + 1e3 * score).tolist()
    columns["tax"] = (0.01 * score**2).tolist()
    columns["ripe"] = ["yes" if s > 1 else "no" for s in score]
    columns["sold"] = [int(s > 0) for s in score]
    columns["kilos"] = [float(round(s)) / 2 for s in np.clip(score, 0, 1)]
    return columns


TARGETS = ("fruit", "price", "tax", "ripe", "sold", "kilos")


def unseen():
    """Other rows, with cells as the training data had none."""
    columns = {name: cells for name, cells in table(seed=1).items() if name not in TARGETS}
    for name in WORDS:
        columns[name][:8] = ["mauve", "NULL", "Null", "", "?", "-Infinity", "#n/A", "Red"]
    columns["weight"][:4] = [float("inf"), float("-inf"), 1e30, -40.0]
    columns["year"][:4] = [float("nan"), 1e6 + 1e-4, -1e6, 16_777_217.0]
    return columns


def trained(folder, target, columns=None, **settings):
    """A model of this table that has learnt something."""
    columns = columns or table()
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path = folder / f"{'-'.join(target)}.csv"
    path.write_text("\n".join(rows).replace("nan", "NA"), encoding="utf-8")
    settings = {f"data.{key}": value for key, value in settings.items()}
    ignored = [name for name in TARGETS if name in columns and name not in target]
    settings |= {"data.target": target, "data.ignore": ignored}
    settings |= {"iterations": 200, "network.hidden": [20, 20]}
    ms.run(ms.configure(str(path), settings), folder / "run")
    return ms.load(folder / "run")


def digits_model(folder, activation="sigmoid", dtype="float32", dropout=0.0):
    init = "random+ep" if ACTIVATIONS[activation]().logistic else "glorot"
    network = {"hidden": [30, 30], "activation": activation, "init": init, "dropout": dropout}
    settings = {f"network.{key}": value for key, value in network.items()}
    ms.run(ms.configure("digits", {"iterations": 150, "dtype": dtype} | settings), folder / "run")
    return ms.load(folder / "run")


def cells(columns, ends):
    """Columns as the graph takes them."""
    feed = {}
    for end, values in zip(ends, columns.values(), strict=True):
        kind = np.float64 if end["type"] == "double" else object
        values = [word.strip() if isinstance(word, str) else word for word in values]
        feed[end["name"]] = np.array(values, kind)[:, None]
    return feed


def exported(model, folder):
    """What onnxruntime makes of the file, the outputs by their names."""
    ends = model.export(folder / "model.onnx")
    session = runtime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    names = [end.name for end in session.get_outputs()]
    assert [(end.name, end.type, end.shape) for end in session.get_inputs()] == kinds(ends["inputs"])
    assert [(end.name, end.type, end.shape) for end in session.get_outputs()] == kinds(ends["outputs"])
    return ends, lambda feed: dict(zip(names, session.run(None, feed), strict=True))


def kinds(ends):
    return [(end["name"], f"tensor({end['type']})", end["shape"]) for end in ends]


def distance(model, found, rows):
    """How far, at most, the graph's numbers are from the model's; in units of a standard deviation of its target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Unseen)
        if model.task != "regression":
            return abs(found["probabilities"] - model.predict_proba(rows)).max()
        return (abs(found["prediction"] - model.predict(rows)) / np.array(model.prepared.target.scale)).max()


def check(model, folder, columns):
    """Answers and probabilities are those of the model."""
    ends, run = exported(model, folder)
    rows = {name: columns[name] for name in model.columns}
    found = run(cells(rows, ends["inputs"]))
    assert distance(model, found, rows) < TOLERANCE
    if model.task == "classification":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Unseen)
            expected = model.predict(rows)
        assert found["label"].tolist() == expected.tolist()
        assert len(set(expected.tolist())) == len(model.classes)  # of the graph nothing is idle
    return found


@pytest.fixture(scope="module")
def fruit(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("fruit"), ["fruit"])


def test_of_words_and_numbers_known_missing_and_new_the_answers_are_the_same(fruit, tmp_path):
    columns = {column.name: column for column in fruit.prepared.columns}
    kinds = {name: (columns[name].other, columns[name].missing) for name in WORDS}
    assert kinds == {"colour": (True, True), "shop": (True, False), "size": (False, False), "day": (False, True)}
    assert isinstance(columns["weight"], Numeric)
    found = check(fruit, tmp_path, unseen())
    assert found["probabilities"].dtype == np.float64


def test_any_number_of_rows_will_do(fruit, tmp_path):
    ends, run = exported(fruit, tmp_path)
    feed = cells({name: unseen()[name] for name in fruit.columns}, ends["inputs"])
    whole = run(feed)
    for n in (0, 1, 7):
        part = run({name: cells[:n] for name, cells in feed.items()})
        assert (part["label"].shape, part["probabilities"].shape) == ((n,), (n, 3))
        assert part["probabilities"] == pytest.approx(whole["probabilities"][:n], abs=1e-7)


def test_the_standards_own_evaluator_gives_the_same(fruit, tmp_path):
    """A second implementation of what the nodes mean."""
    from onnx.reference import ReferenceEvaluator

    ends, run = exported(fruit, tmp_path)
    feed = cells({name: unseen()[name] for name in fruit.columns}, ends["inputs"])
    expected = run(feed)
    with np.errstate(all="ignore"):
        label, probabilities = ReferenceEvaluator(str(tmp_path / "model.onnx")).run(None, feed)
    assert label.tolist() == expected["label"].tolist()
    assert probabilities == pytest.approx(expected["probabilities"], abs=1e-6)


@pytest.mark.parametrize("target", [["price"], ["price", "tax"]], ids=len)
def test_numbers_are_predicted_in_their_own_units(target, tmp_path):
    model = trained(tmp_path, target)
    found = check(model, tmp_path, unseen())["prediction"]
    assert found.shape == ((N, 2) if len(target) > 1 else (N,))
    assert 4.9e6 < found.T[..., 8:].max() < 5.1e6


def test_of_several_yes_or_no_there_are_their_probabilities(tmp_path):
    model = trained(tmp_path, ["ripe", "sold"])
    assert (model.task, model.classes) == ("labels", ["no", "yes", 0, 1])
    found = check(model, tmp_path, unseen())
    assert list(found) == ["probabilities"]
    assert found["probabilities"].shape == (N, 2)


@pytest.mark.parametrize(("target", "kind"), [("sold", np.int64), ("kilos", np.float64)])
def test_classes_that_are_numbers_stay_numbers(target, kind, tmp_path):
    found = check(trained(tmp_path, [target], task="classification"), tmp_path, unseen())
    assert found["label"].dtype == kind


def test_large_values_that_differ_little_keep_their_difference(fruit, tmp_path):
    """For which numbers come in as double: a float32 of 1e6 is off by up to 0.03."""
    ends, run = exported(fruit, tmp_path)
    rows = {name: unseen()[name][8:] for name in fruit.columns}
    feed = cells(rows, ends["inputs"])
    assert distance(fruit, run(feed), rows) < TOLERANCE
    feed["year"] = feed["year"].astype(np.float32).astype(np.float64)
    assert distance(fruit, run(feed), rows) > 100 * TOLERANCE


def test_a_column_may_have_the_name_of_an_output_or_a_node(tmp_path):
    columns = table()
    renamed = {
        "weight": "label",
        "colour": "MatMul",
        "year": "dense0.W",
        "count": "a b, c".replace(",", ";"),
        "day": "数",
    }
    columns = {renamed.get(name, name): cells for name, cells in columns.items()}
    model = trained(tmp_path, ["fruit"], columns)
    ends, run = exported(model, tmp_path)
    assert [end["name"] for end in ends["inputs"]] == model.columns
    assert [end["name"] for end in ends["outputs"]] == ["label_", "probabilities"]
    rows = {renamed.get(name, name): cells for name, cells in unseen().items()}
    assert distance(model, run(cells(rows, ends["inputs"])), rows) < TOLERANCE


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("activation", ACTIVATIONS.rows)
def test_digits_with_every_activation(activation, dtype, digits, tmp_path):
    model = digits_model(tmp_path, activation=activation, dtype=dtype, dropout=0.2)
    check_vectors(model, tmp_path, 8 * (digits.test.x + 1))


def test_a_network_of_float64_is_computed_in_float64(digits, tmp_path):
    model = digits_model(tmp_path, dtype="float64")
    x = 8 * (digits.test.x + 1)
    found = exported(model, tmp_path)[1]({"x": x.astype(np.float64)})
    assert distance(model, found, x) < 1e-12


@pytest.mark.parametrize("case", ["pixels", "scaled", "as they are"])
def test_an_npz_of_each_kind(case, digits, tmp_path):
    x, y = digits.train.x, digits.train.y
    raw = {"pixels": np.round(127.5 * (x + 1)).astype(np.uint8), "scaled": 1e6 + 3 * x.astype(np.float64)}.get(case, x)
    parts = {"x_train": raw[:800], "y_train": 10 * y[:800] + 3, "x_test": raw[800:], "y_test": 10 * y[800:] + 3}
    np.savez(tmp_path / "own.npz", **parts)
    settings = {"data": {"source": "file", "path": str(tmp_path / "own.npz")}, "iterations": 150}
    ms.run(ms.configure("digits", settings), tmp_path / "run")
    model = ms.load(tmp_path / "run")
    assert (model.prepared.pixels, bool(model.prepared.centre)) == (case == "pixels", case == "scaled")
    assert model.classes[:2] == [3, 13]
    check_vectors(model, tmp_path, raw[800:])


@pytest.mark.parametrize(("loss", "task"), [("mean-squared-error", "regression"), ("sigmoid-cross-entropy", "labels")])
def test_data_of_another_source_are_taken_as_they_are(loss, task, digits, tmp_path):
    """Which say nothing of how they were prepared, or what their outputs are called."""
    model = digits_model(tmp_path)
    model = Model(model.net, replace(model.info, prepared=None, loss=loss), model.config)
    assert model.task == task
    x = digits.test.x.astype(np.float64)
    found = exported(model, tmp_path)[1]({"x": x})
    (answers,) = found.values()
    assert answers == pytest.approx(model.predict(x) if task == "regression" else model.predict_proba(x), abs=TOLERANCE)
    assert answers.shape == (300, 10)


def check_vectors(model, folder, x):
    found = exported(model, folder)[1]({"x": x.astype(np.float64)})
    assert distance(model, found, x) < TOLERANCE
    assert found["label"].tolist() == model.predict(x).tolist()
    assert len(set(found["label"].tolist())) > 5


def scaled(column, **changes):
    return replace(column, **{key: change(getattr(column, key)) for key, change in changes.items()})


BROKEN = {
    "scale": lambda c: scaled(c, scale=lambda v: 1.001 * v) if c.name == "weight" else c,
    "centre": lambda c: scaled(c, centre=lambda v: v + 0.001) if c.name == "year" else c,
    "fill": lambda c: scaled(c, fill=lambda v: v + 0.01) if c.name == "weight" else c,
    "order of categories": lambda c: scaled(c, values=lambda v: v[::-1]) if c.name == "shop" else c,
    "a category": lambda c: scaled(c, values=lambda v: [*v[:-1], "x"]) if c.name == "size" else c,
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_prepared_wrongly_is_noticed(broken, fruit, tmp_path):
    """These tests would see it: the graph of a model with one number changed is far from the model."""
    prepared = replace(fruit.prepared, columns=[BROKEN[broken](column) for column in fruit.prepared.columns])
    ends, run = exported(Model(fruit.net, replace(fruit.info, prepared=prepared), fruit.config), tmp_path)
    rows = {name: unseen()[name] for name in fruit.columns}
    assert distance(fruit, run(cells(rows, ends["inputs"])), rows) > 3 * TOLERANCE


def test_a_category_that_is_spelt_like_a_missing_cell_is_a_category(fruit, tmp_path):
    columns = [replace(c, values=["NA", *c.values[1:]]) if c.name == "day" else c for c in fruit.prepared.columns]
    prepared = replace(fruit.prepared, columns=columns)
    model = Model(fruit.net, replace(fruit.info, prepared=prepared), fruit.config)
    check(model, tmp_path, unseen() | {"day": ["NA", "na", "Tue", "x"] * (N // 4)})


def test_others_and_missing_ones_are_not_the_same(fruit, tmp_path):
    ends, run = exported(fruit, tmp_path)
    rows = {name: [cells[50]] * 2 for name, cells in unseen().items()}
    feed = cells(rows | {"colour": ["mauve", "nA"]}, ends["inputs"])
    unlike = run(feed)["probabilities"]
    assert abs(unlike[0] - unlike[1]).max() > 100 * TOLERANCE


def test_every_spelling_of_a_missing_cell_is_known():
    found = [*module.spellings()]
    assert len(found) == len(set(found)) < 2000
    assert {word.lower() for word in found} == MISSING
    assert {"nan", "NaN", "NAN", "NA", "-Infinity", "#DIV/0!", "?", ""} <= {*found}
    # Nothing but its own capital is lowered to a letter of these words.
    letters = set("".join(MISSING))
    capitals = {chr(i) for i in range(sys.maxunicode + 1) if set(chr(i).lower()) <= letters}
    assert capitals == letters | {letter.upper() for letter in letters}


def test_the_file_says_what_it_is_and_not_where_it_was_made(fruit, tmp_path):
    fruit.export(tmp_path / "model.onnx")
    made = onnx.load(tmp_path / "model.onnx")
    assert (made.producer_name, made.producer_version) == ("minisig", ms.__version__)
    assert {entry.key: entry.value for entry in made.metadata_props} == {
        "task": "classification",
        "targets": '["fruit"]',
        "classes": '["apple", "pear", "plum"]',
    }
    assert made.ir_version == 7
    assert {entry.domain: entry.version for entry in made.opset_import} == {"": 13, "ai.onnx.ml": 2}
    content = (tmp_path / "model.onnx").read_bytes()
    assert b".csv" not in content
    assert os.fsencode(tmp_path.parent) not in content


def test_without_categories_the_standards_first_operators_are_enough(digits, tmp_path):
    digits_model(tmp_path).export(tmp_path / "model.onnx")
    assert [entry.domain for entry in onnx.load(tmp_path / "model.onnx").opset_import] == [""]


class Doubled(ms.Sigmoid):
    """One of somebody's own, which has the name of ours."""

    name = "sigmoid"

    def value(self, z, xp=np):
        return 2 * super().value(z, xp)


class Own:
    def __init__(self):
        self.params = {}

    def forward(self, x, backend):
        return 2 * x, None

    def backward(self, dy, cache, backend):
        return 2 * dy, {}


@pytest.mark.parametrize("layer", [Doubled(), Own()], ids=["activation", "layer"])
def test_what_somebody_else_has_written_is_refused_by_its_name(layer, fruit, tmp_path):
    net = Network({**fruit.net.layers, "sigmoid1": layer}, fruit.net.backend)
    with pytest.raises(UsageError, match=rf"layer sigmoid1 \({type(layer).__name__}\) cannot be exported"):
        Model(net, fruit.info, fruit.config).export(tmp_path / "model.onnx")
    assert not [*tmp_path.iterdir()]


def test_dense_layers_that_take_sequences_are_refused(fruit, tmp_path):
    with pytest.raises(UsageError, match="model of sequences"):
        Model(fruit.net, replace(fruit.info, sequences=True), fruit.config).export(tmp_path / "model.onnx")


def test_what_is_too_large_is_refused(fruit, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(UsageError, match="2 GB"):
        fruit.export(tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["model", "model.onnx.txt", "model.pb", ".onnx"])
def test_only_a_file_of_that_name_is_written(name, fruit, tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.onnx"):
        fruit.export(tmp_path / name)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("there", [b"before", None], ids=["in place of another", "new"])
@pytest.mark.parametrize("error", [OSError(28, "disk full"), KeyboardInterrupt()], ids=["full", "stopped"])
def test_a_write_that_fails_leaves_what_was_there(error, there, fruit, tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    if there:
        path.write_bytes(there)

    def fail(file):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CannotWrite if isinstance(error, OSError) else KeyboardInterrupt):
        fruit.export(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([there] if there else [])


def test_what_the_checker_refuses_is_not_written(fruit, tmp_path, monkeypatch):
    monkeypatch.setitem(module.VERSIONS, "", 5)  # an opset without these operators
    with pytest.raises(MinisigError, match="mistake in the graph"):
        fruit.export(tmp_path / "model.onnx")
    assert not [*tmp_path.iterdir()]


def test_the_command_says_what_goes_in_and_comes_out(tmp_path, monkeypatch):
    model = trained(tmp_path, ["fruit"])
    monkeypatch.chdir(tmp_path)
    result = cli("export", "run", "fruit.onnx", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = strict(result.stdout)
    assert found == {"onnx": "fruit.onnx"} | model.export(tmp_path / "twin.onnx")
    assert (tmp_path / "fruit.onnx").read_bytes() == (tmp_path / "twin.onnx").read_bytes()
    assert found["inputs"][0] == {"name": "colour", "type": "string", "shape": ["N", 1]}
    lines = cli("export", "run/best.safetensors", "fruit.onnx").stdout.splitlines()
    assert lines[:3] == ["saved as fruit.onnx", "inputs", "  colour  string  (N, 1)"]
    assert lines[-3:] == ["outputs", "  label          string  (N)", "  probabilities  double  (N, 3)"]


def test_of_many_columns_the_command_shows_the_first(digits, tmp_path):
    columns = {f"p{i}": column for i, column in enumerate(digits.train.x[:, 10:54].T.tolist())}
    model = trained(tmp_path, ["class"], columns | {"class": [f"c{y}" for y in digits.train.y]})
    lines = cli("export", tmp_path / "run", tmp_path / "digits.onnx").stdout.splitlines()
    assert f"  and {len(model.columns) - 20} more" in lines
    assert len(lines) == 26
    assert len(json.loads(cli("export", tmp_path / "run", tmp_path / "d.onnx", "--json").stdout)["inputs"]) > 40
