"""Data that change after a run was trained on them: its model stays what it is, and the run goes on with no others."""

import json
import shutil
import warnings

import numpy as np
import pytest

from minisig.errors import DataChanged, DataError
from minisig.experiments import configure, suited
from minisig.training.evaluate import evaluate
from minisig.training.restore import restore
from minisig.training.run import resume, run
from tests.cli.command import cli
from tests.data.formats import idx
from tests.faults.runs import begun, text

QUICK = {"iterations": 30, "network.hidden": [6], "optimizer.schedule": "constant", "checkpoint_every": 10}
IRIS = ("sepal length", "sepal width", "petal length", "petal width", "species")


def iris(path):
    flowers = pytest.importorskip("sklearn.datasets").load_iris()
    names = [flowers.target_names[label] for label in flowers.target]
    lines = [f"{','.join(map(str, row))},{name}" for row, name in zip(flowers.data.tolist(), names, strict=True)]
    path.write_text("\n".join([",".join(IRIS), *lines]) + "\n")
    return path


def with_cell(path, row, column, cell):
    """Row and column from 0, the header not counted."""
    lines = path.read_text().splitlines()
    cells = lines[row + 1].split(",")
    cells[column] = cell
    lines[row + 1] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def on_iris(tmp_path):
    path = iris(tmp_path / "iris.csv")
    return path, *suited(str(path), QUICK)


def test_an_outlier_that_comes_later_moves_no_other_row(on_iris, tmp_path):
    path, config, data = on_iris
    summary = run(config, tmp_path / "run", data=data)
    row = int(data.rows["train"][5])
    with_cell(path, row, 2, "5000")
    with pytest.warns(DataChanged, match=r"iris\.csv has changed since .*run was trained on it") as told:
        _, later, net = restore(tmp_path / "run")
    assert told[0].filename == __file__
    assert later.prepared == data.prepared
    np.testing.assert_array_equal(later.test.x, data.test.x)
    assert evaluate(net, later.test).error == summary["test_error"]
    assert evaluate(net, later.test).loss == summary["test_loss"]
    others = np.arange(len(data.train.x)) != 5
    np.testing.assert_array_equal(later.train.x[others], data.train.x[others])
    petals = data.prepared.columns[2]
    assert later.train.x[5, 2] == np.float32((5000 - petals.centre) / petals.scale)


def test_data_as_they_were_are_no_reason_to_warn(on_iris, tmp_path):
    path, config, data = on_iris
    run(config, tmp_path / "run", data=data)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restore(tmp_path / "run")


def test_a_column_that_is_gone_and_a_class_that_is_new_are_named(on_iris, tmp_path):
    path, config, data = on_iris
    run(config, tmp_path / "run", data=data)
    good = path.read_text()
    path.write_text(good.replace("sepal width", "width", 1))
    with pytest.raises(DataError, match="no column 'sepal width' any more, which the model was trained on"):
        restore(tmp_path / "run")
    path.write_text(good.replace("setosa", "sunflower", 1))
    with pytest.raises(DataError, match="the class 'sunflower' in row 1 is not one of the model's"):
        restore(tmp_path / "run")


def test_an_edited_table_is_refused_by_resume_with_what_to_do(on_iris, tmp_path):
    path, config, data = on_iris
    run(config, tmp_path / "finished", data=data)
    begun(config, tmp_path / "interrupted", 17)
    good = path.read_bytes()
    before = {file: file.read_bytes() for name in ("finished", "interrupted") for file in (tmp_path / name).iterdir()}
    with_cell(path, 3, 1, "3.25")
    for args in (("finished", "--iterations", 40), ("interrupted",)):
        result = cli("train", "--resume", tmp_path / args[0], *args[1:])
        assert (result.exit_code, result.stdout) == (5, "")
        assert "the data have changed since this run began" in result.stderr
        assert "bring them back, or start a new run" in result.stderr
        assert "Traceback" not in result.stderr
    assert {file: file.read_bytes() for file in before} == before
    path.write_bytes(good)
    assert cli("train", "--resume", tmp_path / "interrupted", "--json").exit_code == 0
    made = (tmp_path / "interrupted" / "best.safetensors").read_bytes()
    assert made == (tmp_path / "finished" / "best.safetensors").read_bytes()


def test_a_finished_run_is_shown_again_whatever_the_table_is_now(on_iris, tmp_path):
    path, config, data = on_iris
    summary = run(config, tmp_path / "run", data=data)
    path.unlink()
    result = cli("train", "--resume", tmp_path / "run", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, json.loads(json.dumps(summary)))


def test_inspect_says_on_stderr_that_the_table_has_changed(on_iris, tmp_path):
    path, config, data = on_iris
    run(config, tmp_path / "run", data=data)
    first = cli("inspect", tmp_path / "run", "--json")
    assert (first.exit_code, first.stderr) == (0, "")
    with_cell(path, int(data.rows["test"][0]), 2, "5000")
    result = cli("inspect", tmp_path / "run", "--json")
    assert (result.exit_code, result.stdout) == (0, first.stdout)  # of training rows, which are as they were
    assert result.stderr == f"Note: {path} has changed since {tmp_path / 'run'} was trained on it\n"


# Other data of one's own


def vectors(folder):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 7, (90, 4))
    path = folder / "mine.npz"
    np.savez(path, x_train=x, y_train=(x[:, 0] > 2).astype(int), x_test=x[:20], y_test=(x[:20, 0] > 2).astype(int))
    return "digits", path


def outlier(path):
    with np.load(path) as file:
        arrays = dict(file)
    arrays["x_train"][40, 1] = 5000
    np.savez(path, **arrays)


def images(folder):
    rng = np.random.default_rng(0)
    (path := folder / "images").mkdir()
    for part, n in (("train", 60), ("t10k", 20)):
        (path / f"{part}-images-idx3-ubyte").write_bytes(idx(rng.integers(0, 256, (n, 3, 3))))
        (path / f"{part}-labels-idx1-ubyte").write_bytes(idx(np.arange(n) % 3))
    return "digits", path


def darker(path):
    file = path / "train-images-idx3-ubyte"
    file.write_bytes(file.read_bytes()[:-9] + bytes(9))


def words(folder):
    return "ptb", text(folder / "words")


def another_word(path):
    """So often that it would be the first of the vocabulary."""
    file = path / "train.txt"
    file.write_text(f"{file.read_text()}\n{'unheard-of ' * 500}")


@pytest.mark.parametrize(("make", "edit"), [(vectors, outlier), (images, darker), (words, another_word)])
def test_data_of_every_kind_are_prepared_as_they_were(make, edit, tmp_path):
    experiment, path = make(tmp_path)
    more = {"data.steps": 5, "batch_size": 4} if experiment == "ptb" else {}
    config = configure(experiment, QUICK | more | {"data.path": str(path)})
    summary = run(config, tmp_path / "run")
    begun(config, tmp_path / "interrupted", 17)
    edit(path)
    with pytest.warns(DataChanged, match=f"{path.name} has changed"):
        _, data, net = restore(tmp_path / "run")
    assert evaluate(net, data.test).loss == summary["test_loss"]
    with pytest.raises(DataError, match="the data have changed since this run began"):
        resume(tmp_path / "interrupted")
    with pytest.raises(DataError, match="the data have changed since this run began"):
        resume(tmp_path / "run", iterations=40)
    result = cli("inspect", tmp_path / "run", "--json")
    assert result.exit_code == 0
    assert f"Note: {path} has changed since" in result.stderr


def test_data_that_have_only_moved_are_the_same(tmp_path, on_iris):
    path, config, data = on_iris
    begun(config, tmp_path / "run", 17)
    written = json.loads((tmp_path / "run" / "config.json").read_text())
    written["data"]["path"] = str(shutil.move(path, tmp_path / "elsewhere.csv"))
    (tmp_path / "run" / "config.json").write_text(json.dumps(written))
    summary = run(config, data=data)
    assert resume(tmp_path / "run")["test_loss"] == summary["test_loss"]


# What a target is


def table(path, target, rows=90):
    x = np.random.default_rng(0).normal(size=rows)
    path.write_text("x,y\n" + "".join(f"{value!r},{target(value)}\n" for value in x.tolist()))
    return path


def test_a_target_of_numbers_is_a_regression_in_its_own_units(tmp_path):
    config, data = suited(str(table(tmp_path / "own.csv", lambda x: repr(1e6 + 1e4 * x))), QUICK)
    assert data.loss == "mean-squared-error"
    summary = run(config, tmp_path / "run", data=data)
    _, data, net = restore(tmp_path / "run")
    target = data.prepared.target
    off = (net.forward(data.test.x) - data.test.y).astype(np.float64) * target.scale[0]
    assert target.centre[0] == pytest.approx(1e6, rel=0.01)
    assert summary["test_rmse"] == pytest.approx(np.sqrt((off**2).mean()), rel=1e-6)
    assert summary["test_mae"] == pytest.approx(abs(off).mean(), rel=1e-6)
    assert 100 < summary["test_rmse"] < 2e4
    assert "test_error" not in summary


def test_labels_from_one_to_three_are_three_classes(tmp_path):
    config, data = suited(str(table(tmp_path / "own.csv", lambda x: 2 + int(x > 0.5) - int(x < -0.5))), QUICK)
    assert (data.classes, data.prepared.target.classes) == (3, [1, 2, 3])
    assert set(np.unique(data.train.y)) == {0, 1, 2}
    assert [one["class"] for one in run(config, data=data)["quality"]["per_class"]] == [1, 2, 3]
    x = np.random.default_rng(0).normal(size=(90, 2))
    np.savez(tmp_path / "own.npz", x_train=x, y_train=2 + (x[:, 0] > 0.5) - (x[:, 0] < -0.5))
    summary = run(configure("digits", QUICK | {"data.path": str(tmp_path / "own.npz")}), tmp_path / "run")
    assert summary["quality"]["classes"] == [1, 2, 3]
    assert len(summary["quality"]["confusion"]) == 3


def test_the_numbers_of_the_rows_are_nothing_to_learn_from(tmp_path):
    """As pandas writes its index; the rows are sorted, so that their numbers alone would tell the class."""
    rng = np.random.default_rng(0)
    lines = [f"{i},{value!r},{'ab'[i >= 60]}" for i, value in enumerate(rng.normal(size=120).tolist())]
    path = tmp_path / "own.csv"
    path.write_text("\n".join([",noise,y", *lines]) + "\n")
    config, data = suited(str(path), QUICK | {"iterations": 300})
    assert [*data.prepared.left_out.values()] == ["row numbers"]
    assert data.prepared.names == ["noise"]
    assert run(config, data=data)["test_error"] > 20
