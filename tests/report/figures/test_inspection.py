"""The figure of an inspection shows what was measured, layer by layer, and the course of a run."""

import json

import msgspec
import numpy as np
import pytest

import minisig as ms
from minisig.data import load
from minisig.diagnostics.inspection import inspect_network
from minisig.experiments import configure
from minisig.models import build_network
from minisig.report.figures import gradient_maps, inspection_figure, new_figure, save
from minisig.report.figures.activations import draw_activations
from minisig.report.figures.bounds import LINES, draw_bounds
from minisig.report.metrics import read_metrics
from minisig.report.palette import COLOURS

pytest.importorskip("matplotlib")

TITLES = {
    "standard deviation of a logit over the inputs": "neuron_std",
    "entropy of the activations": "entropy",
    "gradient with respect to weights and biases": "gradient_norm",
}


def inspected(experiment, inits, **settings):
    found = {}
    for init in inits:
        config = configure(experiment, settings | {"network.init": init})
        data = load(config.data, seed=0)
        batch = data.train.batches(config.batch_size, 0).at(1)
        found[init] = inspect_network(build_network(config, data), batch.x, batch.labels)
    return config, found


@pytest.fixture(scope="module")
def six():
    return inspected("digits", ["random+ep", "lecun"], **{"network.hidden": [20] * 6})


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """Of a short run."""
    folder = tmp_path_factory.mktemp("run") / "run"
    ms.run(configure("digits", {"network.hidden": [20] * 10, "iterations": 45, "validate_every": 20}), folder)
    return read_metrics(folder / "metrics.jsonl")


def panels(figure):
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}


def test_every_quantity_of_every_layer_is_drawn_in_the_colour_of_its_initialization(six):
    config, found = six
    shown = panels(inspection_figure(config, found))
    for title, field in TITLES.items():
        for line in shown[title].lines:
            rows = [row for row in found[line.get_label()].layers if row[field] is not None]
            assert list(line.get_ydata()) == [row[field] for row in rows]
            assert line.get_color() == COLOURS[line.get_label()]
        assert [line.get_label() for line in shown[title].lines] == ["random+ep", "lecun"]
        assert shown[title].get_yscale() == ("linear" if field == "entropy" else "log")
        assert shown[title].get_ylabel()


def test_of_several_the_measured_gradients_are_compared_and_there_is_one_legend(six):
    config, found = six
    figure = inspection_figure(config, found)
    axes = panels(figure)["gradient with respect to the activations"]
    for line in axes.lines:
        assert list(line.get_ydata()) == [row.measured for row in found[line.get_label()].bounds.rows[::-1]]
    assert [text.get_text() for text in axes.get_xticklabels()] == [f"sigmoid{i}" for i in range(6)]
    assert len([axes for axes in figure.axes if axes.get_legend()]) == 1


def test_a_single_one_stands_against_its_bounds_from_the_input_on(six):
    config, found = six
    figure = inspection_figure(config, {"lecun": found["lecun"]})
    axes = panels(figure)["gradient with respect to the activations"]
    bounds = found["lecun"].bounds
    drawn = dict(zip(LINES, axes.lines, strict=True))
    for name, line in drawn.items():
        assert list(line.get_ydata()) == [getattr(row, name) for row in bounds.rows[::-1]]
    for lower, upper in zip(list(LINES)[1:], list(LINES), strict=False):
        assert (drawn[lower].get_ydata() <= drawn[upper].get_ydata()).all()
    assert axes.get_legend().get_title().get_text() == bounds.verdict
    assert axes.get_yscale() == "log"


@pytest.mark.parametrize(
    ("experiment", "settings"),
    [("digits", {"network.hidden": [20] * 30}), ("copy-memory", {"data.delay": 20})],
    ids=["layers", "time steps"],
)
def test_the_legend_of_the_bounds_is_below_what_it_explains(experiment, settings):
    config, found = inspected(experiment, ["ortho+ep"], **settings)
    figure = inspection_figure(config, found)
    figure.draw_without_rendering()
    axes = panels(figure)["gradient with respect to the activations"]
    legend = axes.get_legend().get_window_extent()
    assert legend.y1 < axes.xaxis.get_tightbbox().y0
    assert legend.y0 >= 0
    assert figure.bbox.x0 <= legend.x0 < legend.x1 <= figure.bbox.x1


def test_a_bound_that_is_too_loose_to_be_seen_leaves_the_figure_and_says_where_to():
    _, found = inspected("copy-memory", ["ortho+ep"], **{"data.delay": 30})
    axes = new_figure(5, 4).subplots()
    bounds = found["ortho+ep"].bounds
    draw_bounds(axes, bounds)
    low, high = axes.get_ylim()
    assert high < bounds.rows[-1].frobenius
    for row in bounds.rows:
        assert low < row.measured <= row.product_with_real_derivatives < high
    assert f"up to {bounds.rows[-1].frobenius:.0e}" in axes.lines[0].get_label()
    assert axes.get_xlabel() == "time step"
    assert len(axes.lines[0].get_xdata()) == len(bounds.rows)


@pytest.mark.parametrize(
    ("experiment", "settings", "titles"),
    [
        (
            "copy-memory",
            {"data.delay": 5},
            {"gradient with respect to weights and biases", "gradient with respect to the activations"},
        ),
        ("copy-memory", {"data.delay": 5, "network.model": "lstm"}, {"gradient with respect to weights and biases"}),
        ("digits", {"network.hidden": []}, {"gradient with respect to weights and biases"}),
        ("digits", {"network.hidden": [5]}, {"gradient with respect to weights and biases"}),
    ],
    ids=["rnn", "lstm", "no hidden layer", "a single one"],
)
def test_there_is_no_panel_for_what_there_is_not(experiment, settings, titles):
    config, found = inspected(experiment, ["ortho"], **settings)
    figure = inspection_figure(config, found)
    assert panels(figure).keys() == titles
    assert all(axes.lines for axes in figure.axes)


def test_a_run_shows_its_losses_gradients_and_activities(six, metrics):
    config, found = six
    shown = panels(inspection_figure(config, {"lecun": found["lecun"]}, metrics))
    batch, valid = shown["loss"].lines
    assert (list(batch.get_xdata()), list(valid.get_xdata())) == ([1, 20, 40, 45], [20, 40, 45])
    np.testing.assert_array_equal(valid.get_ydata(), metrics.logged("valid_loss")[1])
    (mesh,) = shown["gradient norm of every layer"].collections
    np.testing.assert_array_equal(mesh.get_array(), metrics.norms.T)
    assert shown.keys() >= {"sigmoid0", "sigmoid9"}


def test_the_map_has_layers_from_the_input_down_and_a_logarithmic_scale(metrics):
    figure = gradient_maps({"a": metrics, "b": metrics})
    axes, other, bar = figure.axes
    (mesh,) = axes.collections
    assert (axes.get_title(), other.get_title(), bar.get_ylabel()) == ("a", "b", "gradient norm")
    assert (axes.get_xlabel(), [t.get_text() for t in axes.get_yticklabels()]) == ("iteration", metrics.layers)
    assert axes.get_ylim() == (10.5, -0.5)
    low, high = metrics.norms.min(), metrics.norms.max()
    assert mesh.norm.vmax / mesh.norm.vmin == pytest.approx(max(high / low, 100))
    assert mesh.norm.vmax * mesh.norm.vmin == pytest.approx(high * low)
    assert type(mesh.norm).__name__ == "LogNorm"
    np.testing.assert_array_equal(mesh.get_coordinates()[0, :, 0], [0, 10.5, 30, 42.5, 47.5])


def test_maps_side_by_side_have_one_scale_and_a_zero_is_left_out(tmp_path):
    def written(name, norms):
        record = {
            "iteration": 7,
            "train_loss": 1.0,
            "activation_mean": {},
            "activation_std": {},
            "gradient_norm": norms,
        }
        (tmp_path / name).write_text(json.dumps(record) + "\n")
        return read_metrics(tmp_path / name)

    figure = gradient_maps({
        "small": written("a.jsonl", {"dense0": 1e-9, "dense1": 0.0}),
        "large": written("b.jsonl", {"dense0": 1e2, "dense1": None}),
    })  # fmt: skip
    small, large = (axes.collections[0] for axes in figure.axes[:2])
    assert (small.norm.vmin, small.norm.vmax) == (large.norm.vmin, large.norm.vmax) == (1e-9, 1e2)
    assert np.ma.getmaskarray(small.get_array()).tolist() == [[False], [True]]


def test_names_that_look_like_formulas_or_have_no_end_are_names(six, tmp_path):
    names = ["$\\nosuch{$", "x" * 100_000]
    values = dict.fromkeys(names, 1.0)
    record = {
        "iteration": 1,
        "train_loss": 1.0,
        "gradient_norm": values,
        "activation_mean": values,
        "activation_std": values,
    }
    (tmp_path / "metrics.jsonl").write_text(json.dumps(record) + "\n")
    config, found = six
    named = msgspec.structs.replace(config, experiment="$\\frac$")
    figure = inspection_figure(named, {"lecun": found["lecun"]}, read_metrics(tmp_path / "metrics.jsonl"))
    save(figure, tmp_path / "a.png")  # where a formula would be read
    assert panels(figure).keys() >= {names[0], "x" * 40}


def test_activities_are_drawn_as_mean_and_deviation_of_layers_evenly_spread(metrics):
    figure = new_figure(8, 4)
    draw_activations(figure, metrics, "black")
    assert [axes.get_title() for axes in figure.axes] == [f"sigmoid{i}" for i in (0, 1, 3, 4, 5, 6, 8, 9)]
    for axes, layer in zip(figure.axes, (0, 1, 3, 4, 5, 6, 8, 9), strict=True):
        (line,), (band,) = axes.lines, axes.collections
        np.testing.assert_array_equal(line.get_ydata(), metrics.means[:, layer])
        (path,) = band.get_paths()
        edges = metrics.means[:, layer] + np.outer([-1, 1], metrics.stds[:, layer])
        assert set(path.vertices[:, 1]) == set(edges.ravel())
    assert {axes.get_xlabel() for axes in figure.axes[4:]} == {"iteration"}
