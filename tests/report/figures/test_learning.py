"""Learning curves show the numbers they are given: what is tested is what is drawn, not the pixels."""

import numpy as np
import pytest

from minisig.experiments import configure
from minisig.experiments.compare import Comparison, Row, curves
from minisig.experiments.results import Job, Result
from minisig.report.figures import learning_curves
from minisig.report.palette import COLOURS

pytest.importorskip("matplotlib")

TRAIN = {
    "random+ep": [[2.0, 1.0, 0.5], [4.0, 3.0, 0.25], [3.0, 0.5, 0.75]],
    "lecun": [[2.5, 2.25, 2.0], [2.25, 2.5, 2.0], [2.0, 2.0, 2.0]],
    "ortho": [[1.0, 1.0, 1.0], [8.0, 4.0, 2.0], [1.5, 1.5, 1.5]],
}


def comparison(losses, every=10):
    """Runs with these training losses, and a validation loss of twice as much at every second record."""
    rows = []
    for name, runs in losses.items():
        results = []
        for seed, run in enumerate(runs):
            records = [{"iteration": every * (i + 1), "train_loss": loss} for i, loss in enumerate(run)]
            for record in records[1::2]:
                record["valid_loss"] = 2 * record["train_loss"]
            results.append(Result(Job(name, configure("digits", {"seed": seed})), {}, records))
        rows.append(Row(name, results, "test_error", None, {}))
    return Comparison(configure("digits"), "test_error", 3, rows)


def drawn(axes):
    """Of every line: its points, and the lower and upper edge of its band."""
    found = {}
    for line, band in zip(axes.lines, axes.collections, strict=True):
        (path,) = band.get_paths()
        edges = {}
        for x, y in path.vertices:
            edges.setdefault(float(x), set()).add(float(y))
        low, high = ([pick(edges[x]) for x in sorted(edges)] for pick in (min, max))
        found[line.get_label()] = (list(line.get_xdata()), list(line.get_ydata()), low, high)
    return found


@pytest.mark.parametrize(
    ("place", "title", "at", "factor"),
    [(0, "training loss", [0, 1, 2], 1), (1, "validation loss", [1], 2)],
)
def test_curves_show_the_mean_and_a_band_from_the_least_to_the_most(place, title, at, factor):
    axes = learning_curves(comparison(TRAIN)).axes[place]
    assert axes.get_title() == title
    expected = {}
    for name, runs in TRAIN.items():
        values = factor * np.array(runs)[:, at]
        expected[name] = (
            *([10 * (i + 1) for i in at], list(values.mean(axis=0))),
            *(list(values.min(axis=0)), list(values.max(axis=0))),
        )
    assert drawn(axes) == expected


def test_losses_are_drawn_on_a_logarithmic_axis_over_iterations():
    figure = learning_curves(comparison(TRAIN))
    assert [(axes.get_yscale(), axes.get_xscale(), axes.get_xlabel()) for axes in figure.axes] == [
        ("log", "linear", "iteration")
    ] * 2


def test_the_legend_names_every_row_once_in_a_colour_of_its_own():
    names = ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun", "lstm"]
    figure = learning_curves(comparison({name: [[2.0, 1.0]] for name in names}))
    (legend,) = (axes.get_legend() for axes in figure.axes if axes.get_legend())
    assert [text.get_text() for text in legend.get_texts()] == names
    colours = [line.get_color() for line in legend.get_lines()]
    assert len(set(colours)) == len(names)
    for axes in figure.axes:
        assert [line.get_color() for line in axes.lines] == colours


def test_an_initialization_has_its_colour_whoever_stands_beside_it():
    figure = learning_curves(comparison({name: [[2.0, 1.0]] for name in ("lecun", "mine", "random+ep")}))
    drawn = {line.get_label(): line.get_color() for line in figure.axes[0].lines}
    assert (drawn["lecun"], drawn["random+ep"]) == (COLOURS["lecun"], COLOURS["random+ep"])
    assert len(set(drawn.values())) == 3


def test_a_loss_that_nobody_logged_has_no_panel():
    found = comparison({"lecun": [[2.0, 1.0, 0.5]]})
    for record in found.rows[0].results[0].metrics:
        record.pop("valid_loss", None)
    assert [axes.get_title() for axes in learning_curves(found).axes] == ["training loss"]


def test_losses_that_hardly_vary_look_like_it():
    low, high = learning_curves(comparison({"lecun": [[2.31, 2.30, 2.30]]})).axes[0].get_ylim()
    assert low < 2.30 < 2.31 < high
    assert high / low == pytest.approx(10)


def test_a_row_without_results_has_no_curve():
    figure = learning_curves(comparison(TRAIN | {"lsuv": []}))
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == list(TRAIN)


def test_the_figure_names_the_experiment():
    assert learning_curves(comparison(TRAIN)).get_suptitle() == "digits"


def test_more_rows_than_colours_are_all_drawn():
    losses = {f"row {i}": [[2.0, 1.0]] for i in range(12)}
    assert [len(axes.lines) for axes in learning_curves(comparison(losses)).axes] == [12, 12]


def test_a_mean_is_taken_only_where_every_run_has_a_value():
    short = comparison({"lecun": [[3.0, 2.0, 1.0], [1.0, 1.0]]})
    assert curves(short.rows[0].results, "train_loss") == {10: [3.0, 1.0], 20: [2.0, 1.0]}
    assert curves(short.rows[0].results, "nosuch") == {}
    assert curves([], "train_loss") == {}


def test_what_is_no_number_is_not_drawn():
    (row,) = comparison({"lecun": [[3.0, 2.0, 1.0]]}).rows
    row.results[0].metrics[1]["train_loss"] = None  # what JSON has in place of infinity
    assert curves(row.results, "train_loss") == {10: [3.0], 30: [1.0]}


def test_a_single_point_is_a_dot():
    training, validation = learning_curves(comparison(TRAIN)).axes
    assert {line.get_marker() for line in training.lines} == {"None"}
    assert {line.get_marker() for line in validation.lines} == {"o"}
