"""What was read and decided is told, every line of it."""

from pathlib import Path

import numpy as np

from minisig.data.tables import TableSettings, load_table
from tests.data.written import lines

N = 100


def about(raw, text, **wanted):
    return list(load_table(Path(raw(text, ".csv")), TableSettings(**wanted)).about)


def test_all_that_was_decided_is_told(raw):
    rows = [
        [i, "" if i % 10 == 0 else i % 17, ["red", "", "blue", "green"][i % 4], "k", f"2020-01-{i % 28 + 1:02}",
         ["yes", "no", "no", "no"][i % 4] if i % 20 else "", f"id{i}"]
        for i in range(N)
    ]  # fmt: skip
    text = "no,n,colour,same,day,answer,key\n" + lines(*rows) + ",2\n"
    assert about(raw, text) == [
        "mine.csv: 95 rows (62 to train, 14 to validate, 19 to test), 7 columns, 5 inputs",
        "target answer: classification, 2 classes: no 79%, yes 21%",
        "not the target: key, nearly every row has another value: identifiers",
        "n: 5 missing, filled with 8",
        "colour: 25 missing, a category of their own",
        "categories: colour (3)",
        "left out: no: row numbers",
        "left out: same: constant, 'k'",
        "left out: day: dates",
        "left out: key: nearly every row has another value: identifiers",
        "1 lines with too few cells; what lacks is missing",
        "5 rows without a answer are left out",
    ]


def test_a_regression_tells_its_targets_and_their_spread(raw):
    x = np.arange(N) / 4
    text = "x,a,b\n" + lines(*([v * 7 % 3, 1000 + v, 5 * v] for v in x.tolist()))
    (line,) = [line for line in about(raw, text, target=("a", "b")) if line.startswith("target")]
    a = float(line.split("regression, ")[1].split(" ± ")[0])
    assert line.startswith("target a, b: regression, ")
    assert abs(a - 1000 - x.mean()) < 1


def test_labels_are_told(raw):
    text = "x,a,b\n" + lines(*([i * 7 % 13, i % 2, i % 3 > 0] for i in range(N)))
    assert "targets a, b: yes or no for each" in about(raw, text, target=("a", "b"))


def test_of_many_names_some_are_told_and_how_many_more(raw):
    names = [f"c{i}" for i in range(20)]
    kinds = [f"k{i}" for i in range(9)]
    rows = [["x"] * 20 + [kinds[i % 9]] for i in range(N)]
    for i, row in enumerate(rows):
        row[10:20] = ["ab"[(i + k) % 3 % 2] for k in range(10)]
    told = about(raw, ",".join([*names, "y"]) + "\n" + lines(*rows))
    assert "left out: c0, c1, c2, c3, c4, c5, c6, c7 and 2 more: constant, 'x'" in told
    assert any(line.endswith("c14 (2), c15 (2), c16 (2), c17 (2) and 2 columns more") for line in told)
    (target,) = [line for line in told if line.startswith("target")]
    assert target.startswith("target y: classification, 9 classes: ")
    assert target.endswith(" and 3 more")


def test_missing_cells_without_a_category_are_told(raw):
    rows = [["ab"[i % 2], i % 13, i % 2] for i in range(N)]
    held = load_table(Path(raw("c,x,y\n" + lines(*rows), ".csv")), TableSettings()).rows["test"]
    rows[int(held[0])][0] = "NA"
    assert "c: 1 missing, no category" in about(raw, "c,x,y\n" + lines(*rows))
