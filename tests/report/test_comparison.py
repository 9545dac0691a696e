"""A comparison as text, Markdown, CSV and JSON: the numbers of its runs, beside the paper's."""

import csv
import json
import re
from io import StringIO
from statistics import mean, stdev

import pytest

from minisig.errors import Diverged
from minisig.experiments import EXPERIMENTS, configure
from minisig.experiments.compare import Comparison, Row
from minisig.experiments.results import Job, Result
from minisig.report.comparison import comparison_csv, comparison_json, comparison_markdown, comparison_text


def comparison(experiment, values, *, baselines=None, failures=None, iterations=1000):
    """What a comparison would be whose runs had brought these values; a seed without one has failed."""
    known = EXPERIMENTS[experiment]
    rows = []
    for name, of_row in values.items():
        results = [
            Result(
                Job(name, configure(experiment, {"seed": seed, "iterations": iterations})),
                {known.metric: value, "seconds": 1.5 + seed, "baselines": baselines or {}},
                [],
            )
            for seed, value in enumerate(of_row)
            if value is not None
        ]
        rows.append(Row(name, results, known.metric, known.paper.get(name), (failures or {}).get(name, {})))
    seeds = max(map(len, values.values()))
    return Comparison(configure(experiment, {"iterations": iterations}), known.metric, seeds, rows)


def cells(text, name):
    """The cells of a row of the table as text, two spaces apart or more."""
    (line,) = (line for line in text.splitlines() if re.match(rf"{re.escape(name)} ", line))
    return re.split(r" {2,}", line)


MNIST = {"random+ep": [1.5, 1.75, 2.0, 2.35], "lecun": [3.0, 3.5, 2.5, 3.0], "scaled-tanh": [2.0, 2.0, 2.0, 2.4]}


def test_text_has_ours_the_papers_and_the_difference():
    text = comparison_text(comparison("mnist-shallow", MNIST))
    assert cells(text, "random+ep") == ["random+ep", "1.90 ± 0.36", "1.78 ± 0.06", "+0.12"]
    assert cells(text, "lecun") == ["lecun", "3.00 ± 0.41", "1.91 ± 0.03", "+1.09"]
    assert cells(text, "scaled-tanh") == ["scaled-tanh", "2.10 ± 0.20", "–", "–"]
    assert "test error %" in text
    assert "4 seeds of 1,000 iterations" in text
    assert "hidden 800" in text


def test_less_than_the_paper_is_a_negative_difference():
    text = comparison_text(comparison("mnist-deep", {"ortho": [3.0]}))
    assert cells(text, "ortho") == ["ortho", "3.00", "3.32 ± 0.11", "−0.32"]


def test_a_paper_without_deviations_is_shown_without():
    table = comparison("mnist-deep-augmented", {"random+ep": [0.7, 0.8], "scaled-tanh": [0.6, 0.7]})
    assert cells(comparison_text(table), "random+ep")[2:] == ["0.68", "+0.07"]
    assert cells(comparison_text(table), "scaled-tanh")[2:] == ["0.62", "+0.03"]


def test_the_papers_numbers_have_the_digits_of_ours():
    text = comparison_text(comparison("mnist-deep-augmented", {"lecun": [0.7]}))
    assert cells(text, "lecun") == ["lecun", "0.70", "0.80", "−0.10"]


def test_perplexities_have_as_many_digits_as_tell_them_apart():
    text = comparison_text(comparison("ptb", {"lecun": [150.2, 151.2], "lstm": [120.0, 121.0]}))
    assert cells(text, "lecun") == ["lecun", "150.7 ± 0.7", "143.1 ± 0.8", "+7.6"]
    assert cells(text, "lstm") == ["lstm", "120.5 ± 0.7", "128.3 ± 0.5", "−7.8"]
    text = comparison_text(comparison("copy-memory", {"lecun": [1.0611, 1.0601]}))
    assert cells(text, "lecun") == ["lecun", "1.061 ± 0.001", "–", "–"]
    assert "test perplexity" in text


def test_perplexities_of_a_comparison_all_have_the_digits_that_the_smallest_needs():
    table = comparison("copy-memory", {"lecun": [14.52, 14.68], "lstm": [9.302, 9.522], "ortho": [None, None]})
    for text in (comparison_text(table), comparison_markdown(table).replace(" | ", "  ").replace("| ", "")):
        assert cells(text, "lecun")[1] == "14.600 ± 0.113"
        assert cells(text, "lstm")[1] == "9.412 ± 0.156"


def test_a_baseline_says_which_text_it_is_of():
    table = comparison("ptb", {"lecun": [150.0]}, baselines={"uniform": 10000.0, "unigram": 667.12})
    assert {"uniform 1e+04", "unigram on the validation text 667.1"} <= {*comparison_text(table).splitlines()}
    assert comparison_markdown(table).splitlines()[-1] == "| unigram on the validation text | 667.1 | – | – |"
    assert comparison_json(table)["baselines"].keys() == {"uniform", "unigram"}


def test_baselines_stand_below_the_table():
    table = comparison("copy-memory", {"lecun": [1.0611], "lstm": [1.05]}, baselines={"memoryless": 1.06064})
    assert "memoryless 1.061" in comparison_text(table).splitlines()
    assert comparison_markdown(table).splitlines()[-1] == "| memoryless | 1.061 | – | – |"
    assert comparison_json(table)["baselines"] == {"memoryless": 1.06064}


def test_without_baselines_nothing_is_said_of_them():
    assert "memoryless" not in comparison_text(comparison("mnist-shallow", MNIST))


def test_one_seed_has_no_deviation():
    table = comparison("mnist-shallow", {"lecun": [2.0], "ortho": [2.5]})
    assert cells(comparison_text(table), "lecun")[1] == "2.00"
    assert "one seed of" in comparison_text(table)
    assert [row["std"] for row in comparison_json(table)["rows"]] == [None, None]


def test_failures_are_told_with_row_and_seed():
    values = {"lecun": [1.0, None, 3.0], "ortho": [None, None, None]}
    gone = {"lecun": {1: Diverged("too fast")}, "ortho": {seed: Diverged(f"no {seed}") for seed in range(3)}}
    table = comparison("mnist-shallow", values, failures=gone)
    text = comparison_text(table)
    assert cells(text, "lecun") == ["lecun", "2.00 ± 1.41", "1.91 ± 0.03", "+0.09"]
    assert cells(text, "ortho") == ["ortho", "–", "1.86 ± 0.02", "–"]
    assert text.splitlines()[-4:] == [
        "failed: lecun, seed 1: too fast",
        *(f"failed: ortho, seed {seed}: no {seed}" for seed in range(3)),
    ]
    lecun, ortho = comparison_json(table)["rows"]
    assert (lecun["values"], lecun["mean"], lecun["failed"]) == ([1.0, 3.0], 2.0, {"1": "too fast"})
    assert (ortho["values"], ortho["mean"], ortho["std"], ortho["difference"]) == ([], None, None, None)
    lines = list(csv.DictReader(StringIO(comparison_csv(table))))
    assert [(line["init"], line["seed"], line["test_error"]) for line in lines] == [
        ("lecun", "0", "1.0"),
        ("lecun", "2", "3.0"),
    ]


def test_the_papers_perplexity_does_not_change_its_digits_when_ours_fails():
    table = comparison("ptb", {"lecun": [None]}, failures={"lecun": {0: Diverged("too fast")}})
    assert cells(comparison_text(table), "lecun")[2] == "143.1 ± 0.8"


def test_baselines_are_known_if_the_first_row_has_failed():
    values = {"lecun": [None], "ortho": [1.0]}
    table = comparison("copy-memory", values, baselines={"memoryless": 1.06}, failures={"lecun": {0: Diverged("!")}})
    assert table.baselines == {"memoryless": 1.06}


def test_markdown_is_a_table_of_the_same_cells():
    lines = comparison_markdown(comparison("mnist-shallow", MNIST)).splitlines()
    assert lines == [
        "| test error % | here | paper | difference |",
        "| --- | --- | --- | --- |",
        "| random+ep | 1.90 ± 0.36 | 1.78 ± 0.06 | +0.12 |",
        "| lecun | 3.00 ± 0.41 | 1.91 ± 0.03 | +1.09 |",
        "| scaled-tanh | 2.10 ± 0.20 | – | – |",
    ]


def test_csv_has_every_value_to_its_last_bit():
    values = [100 / 3, 0.1 + 0.2, 1e-7]
    rows = list(csv.DictReader(StringIO(comparison_csv(comparison("digits", {"lecun": values})))))
    assert [float(row["test_error"]) for row in rows] == values
    assert [(row["experiment"], row["init"], row["seed"], row["seconds"]) for row in rows] == [
        ("digits", "lecun", str(seed), str(1.5 + seed)) for seed in range(3)
    ]


def test_json_has_mean_deviation_values_and_the_paper():
    found = json.loads(json.dumps(comparison_json(comparison("mnist-shallow", MNIST)), allow_nan=False))
    assert (found["experiment"], found["metric"], found["iterations"], found["seeds"]) == (
        *("mnist-shallow", "test_error"),
        *(1000, 4),
    )
    assert {row["init"]: row["values"] for row in found["rows"]} == MNIST
    for row in found["rows"]:
        assert (row["mean"], row["std"]) == (mean(row["values"]), stdev(row["values"]))
        assert row["seconds"] == [1.5, 2.5, 3.5, 4.5]
    paper = {row["init"]: (row["paper"], row["paper_std"]) for row in found["rows"]}
    assert paper == {"random+ep": (1.78, 0.06), "lecun": (1.91, 0.03), "scaled-tanh": (None, None)}
    assert found["rows"][0]["difference"] == pytest.approx(mean(MNIST["random+ep"]) - 1.78)
    assert found["rows"][2]["difference"] is None
