"""Is the model good? What a report and a terminal say of it, and what they do not believe."""

import json
import re
import shutil
import struct
import zlib
from base64 import b64decode, b64encode

import numpy as np
import pytest

from minisig.errors import DataError
from minisig.experiments import configure, suited
from minisig.report import quality
from minisig.report.quality import MAX_SHOWN, confusion_text, png, quality_part, quality_text, verdict
from minisig.report.runs import read_paths
from minisig.report.sections import section
from minisig.report.summary import summary_text
from minisig.training.records import read_summary
from minisig.training.run import run
from tests.cli.command import cli
from tests.support import shop

CLASSES = {"rows": 400, "usual": "apple", "guessing": 40.0}
NUMBERS = {"rows": 400, "guessing": 12.5}


@pytest.mark.parametrize(
    ("summary", "sentence"),
    [
        ({"test_error": 40.0, "quality": CLASSES}, "no better than always answering 'apple', with 40.00 %"),
        ({"test_error": 71.5, "quality": CLASSES}, "no better than always answering 'apple', with 40.00 %"),
        (  # twice the standard deviation of 40 % of 400 rows is 4.9 %
            {"test_error": 35.5, "quality": CLASSES},
            "not clearly better than always answering 'apple', with 40.00 %: 400 test rows do not tell them apart",
        ),
        ({"test_error": 35.0, "quality": CLASSES}, "always answering 'apple' would have an error of 40.00 %"),
        (
            {"test_error": 30.0, "quality": CLASSES | {"rows": 20}},
            "not clearly better than always answering 'apple', with 40.00 %: 20 test rows do not tell them apart",
        ),
        ({"test_error": 0.0, "quality": CLASSES | {"usual": 3}}, "always answering 3 would have an error of 40.00 %"),
        (
            {"test_error": 0.0, "quality": CLASSES | {"guessing": 0.0}},
            "no better than always answering 'apple', with 0.00 %",
        ),
        (
            {"test_error": 9.0, "rows": 400, "guessing": 40.0},
            "always giving the most frequent answer would have an error of 40.00 %",
        ),
        ({"test_r2": 0.0, "quality": NUMBERS}, "no better than always answering the mean (rmse 12.5)"),
        ({"test_r2": -3.0, "quality": NUMBERS}, "no better than always answering the mean (rmse 12.5)"),
        (
            {"test_r2": 0.04, "quality": NUMBERS},
            "hardly better than always answering the mean (rmse 12.5): 4% of the variance",
        ),
        (
            {"test_r2": 0.914, "quality": NUMBERS},
            "91% of the target's variance is explained; always answering the mean would have rmse 12.5",
        ),
        ({"test_error": 3.0}, ""),
        ({"test_error": 3.0, "quality": {"importance": {}}}, ""),
        ({"test_error": 3.0, "quality": CLASSES | {"rows": 0}}, ""),
        ({"test_perplexity": 3.0, "quality": CLASSES}, ""),
    ],
)
def test_the_verdict_is_on_what_guessing_would_do(summary, sentence):
    assert verdict(summary) == sentence


@pytest.fixture(scope="session")
def in_vain(tmp_path_factory):
    """Nothing is learned, though the gradient reaches every layer: the learning rate is far too small."""
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("vain")
    x = rng.normal(size=(200, 3)).tolist()
    lines = [",".join([*map(repr, row), "rare" if i % 4 == 0 else "usual"]) for i, row in enumerate(x)]
    (folder / "own.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    settings = {"optimizer.learning_rate": 1e-9, "iterations": 30, "seed": 2, "network.hidden": [20, 20]}
    config, _ = suited(str(folder / "own.csv"), settings)
    return config, folder / "run", run(config, folder / "run")


def test_a_run_that_learned_nothing_is_told_so_though_its_gradient_was_alive(in_vain):
    config, folder, summary = in_vain
    shares = [row["gradient_norm_first"] for row in summary["layers"]]
    assert 0.01 < shares[0] / shares[-1] < 100
    assert summary["test_error"] >= summary["quality"]["guessing"]
    said = "no better than always answering 'usual', with 25.00 %"
    shown = summary_text(summary, config, folder)
    assert ": alive\n" in shown
    assert f"\n{said}\n" in shown
    found = section(*read_paths([folder]), lambda runs: [])
    assert found.verdict[1] == f"{said[0].upper()}{said[1:]}."
    assert found.verdict[2].endswith("alive.")


def test_a_run_that_learned_is_not(own):
    summary = own("price").summary
    assert summary["test_r2"] > 0.5
    assert verdict(summary).startswith(f"{summary['test_r2']:.0%} of the target's variance is explained")
    assert "no better" not in verdict(own("fruit").summary)


def test_classes_that_are_never_found_are_named():
    classes = [{"class": name, "rows": rows, "recall": recall} for name, rows, recall in (("a", 5, 0.0), ("b", 5, 0.4))]
    unseen = [{"class": "c", "rows": 0, "recall": None}]
    summary = {"quality": {"classes": ["a", "b", "c"], "per_class": classes + unseen}}
    assert quality_text(summary) == ["never found: 'a'"]


def test_the_most_important_columns_are_told():
    rises = {f"column {i}": 0.5 / (i + 1) for i in range(9)}
    (line,) = quality_text({"quality": {"importance": rises}})
    assert line.startswith("most important columns (rise of the loss when shuffled): column 0 +0.500, column 1 +0.250")
    assert "column 4" in line
    assert "column 5" not in line
    assert quality_text({"quality": {"importance": rises}}, columns=False) == []


def test_of_many_classes_the_most_frequent_confusions_are_listed():
    size = MAX_SHOWN + 1
    counts = np.zeros((size, size), int)
    counts[3, 4], counts[0, 1], counts[5, 5] = 7, 9, 1000
    found = {"classes": [f"c{i}" for i in range(size)], "confusion": counts.tolist()}
    assert confusion_text(found) == ["9 of class c0 taken for c1", "7 of class c3 taken for c4"]


def test_a_test_of_numbers_is_told_with_its_metrics():
    found = {"rows": 1234, "test_loss": 0.5, "test_rmse": 2.0, "test_mae": 1.5, "test_r2": 0.75}
    assert quality.tested_text(found) == "1,234 rows: rmse 2, mae 1.5, r2 0.75, loss 0.5000"


def test_a_picture_holds_its_pixels():
    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3) * 51
    address = png(b64encode(pixels.tobytes()).decode(), 2, 3)
    kind, _, content = address.partition(",")
    assert kind == "data:image/png;base64"
    content = b64decode(content)
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, rest = {}, content[8:]
    while rest:
        (size,) = struct.unpack(">I", rest[:4])
        name, body = rest[4:8], rest[8 : 8 + size]
        assert struct.unpack(">I", rest[8 + size : 12 + size])[0] == zlib.crc32(name + body)
        chunks[name], rest = body, rest[12 + size :]
    assert struct.unpack(">II", chunks[b"IHDR"][:8]) == (3, 2)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(2, 4)
    np.testing.assert_array_equal(rows[:, 1:], pixels)
    assert not rows[:, 0].any()


# In a report


@pytest.fixture
def page(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("plotly")

    def of(*folders):
        result = cli("report", *folders, "--out", tmp_path / "report.html")
        assert result.exit_code == 0, result.stderr
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return of


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        (
            "fruit",
            ["Classes", "Which class was taken for which", "The most confident mistakes, by their row in the data"],
        ),
        ("price", ["Predictions", "Importance of the columns"]),
        ("labels", ["Importance of the columns"]),
    ],
)
def test_the_report_on_a_table_asks_whether_the_model_is_good(own, page, kind, holds):
    text = page(own(kind).folder)
    part = text.partition("Is the model good?")[2].partition(">Learning<")[0]
    assert part
    for caption in holds:
        assert caption in part
    assert "discount" in part


def test_mistaken_digits_are_shown_as_pictures(tmp_path, page):
    summary = run(configure("digits", {"iterations": 60, "network.hidden": [12]}), tmp_path / "run")
    first = summary["quality"]["mistakes"][0]
    caption = f"{first['class']} taken for {first['answer']}, {100 * first['p']:.1f} %"
    text = page(tmp_path / "run")
    assert text.count('<img src="data:image/png;base64,') == len(summary["quality"]["mistakes"]) == 24
    assert f'<img src="{png(first["image"], 8, 8)}" alt="{caption}">' in text
    assert "img-src data:" in text


def test_a_comparison_has_no_such_part(own, page, tmp_path):
    other = shutil.copytree(own("fruit").folder, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"seed": 7}))
    assert "Is the model good?" not in page(own("fruit").folder, other)


def test_names_that_look_like_markup_are_names(own, page, tmp_path):
    folder = shutil.copytree(own("fruit").folder, tmp_path / "run")
    summary = json.loads((folder / "summary.json").read_text())
    evil = "<script>alert(1)</script>"
    found = summary["quality"]
    found["classes"][0] = found["per_class"][0]["class"] = found["usual"] = evil
    found["mistakes"][0]["answer"] = evil
    found["importance"] = {evil: 1.0, "</script><b>": 0.5}
    (folder / "summary.json").write_text(json.dumps(summary))
    text = page(folder)
    assert "<script>alert" not in text
    assert "</script><b>" not in text
    assert "alert(1)" in text


def test_a_table_whose_names_look_like_markup_is_reported_as_text(page, tmp_path):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b]0;x\x07"
    cells = shop.without(shop.cells(), "fruit")
    columns = {f"{name}{evil}": values for name, values in cells.items()}
    columns |= {f"fruit{evil}": [f"{'ab'[row % 2]}{evil}" for row in range(shop.N)]}
    table = shop.write(tmp_path / "evil.csv", columns)
    config, data = suited(str(table), {"iterations": 5, "network.hidden": [4], "log_every": 1})
    run(config, tmp_path / "run", data=data)
    text = page(tmp_path / "run")
    assert "alert(1)" in text
    assert not re.search(r"<script>alert|<img src=x|\x1b|\x07", text)


# What is not believed


def first(**fields):
    def change(found):
        found["mistakes"][0].update(fields)

    return change


HOSTILE = {
    "not base64": first(image="!!!!"),
    "cut base64": first(image="abc"),
    "no ASCII": first(image="é"),
    "another size": lambda found: found.update(image=[3, 3]),
    "no size": lambda found: found.pop("image"),
    "a huge size": lambda found: found.update(image=[10**6, 10**6]),
    "a size of zero": lambda found: found.update(image=[0, 64]),
    "no probability": first(p=None),
    "fewer rows of counts": lambda found: found["confusion"].pop(),
    "a row too long": lambda found: found["confusion"][3].append(1),
    "fewer classes": lambda found: found["classes"].pop(),
    "counts that are none": lambda found: found["confusion"][0].__setitem__(0, "1"),
    "rows below none": lambda found: found.update(rows=-4),
    "rows that are none": lambda found: found.update(rows="many"),
    "guessing in words": lambda found: found.update(guessing="40 %"),
    "a list for names": lambda found: found.update(classes=[[]] * 10),
    "residuals without an end": lambda found: found.update(residuals={"target": [1.0], "prediction": []}),
    "no residuals": lambda found: found.update(residuals={"target": [], "prediction": []}),
    "importance in words": lambda found: found.update(importance={"a": "very"}),
}


@pytest.fixture(scope="module")
def of_digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("of digits") / "run"
    run(configure("digits", {"iterations": 30, "network.hidden": [5]}), folder)
    return folder


@pytest.mark.parametrize("name", HOSTILE)
def test_a_summary_that_does_not_fit_together_is_refused(of_digits, tmp_path, name):
    folder = shutil.copytree(of_digits, tmp_path / "run")
    summary = json.loads((folder / "summary.json").read_text())
    HOSTILE[name](summary["quality"])
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(DataError, match=r"summary\.json"):
        read_summary(folder)
    result = cli("report", folder, "--out", tmp_path / "report.html")
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith("Error: ")
    assert not (tmp_path / "report.html").exists()


def test_a_summary_as_it_should_be_passes_the_same_way(of_digits):
    assert len(quality_part(read_summary(of_digits)).images) == 24
