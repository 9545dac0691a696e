"""Charts by their data: every trace has the numbers it is named after."""

import json
import math
from statistics import mean

import pytest

from minisig.report.charts import curve, curves_chart, plain, results_chart, start_chart, start_norms, styles
from minisig.report.layers import capacity, heat_chart, profile
from minisig.report.palette import PALETTE
from minisig.report.runs import kinds, read_paths


@pytest.fixture(scope="module")
def run(one):
    ((run,), _) = read_paths([one])
    return run


@pytest.fixture(scope="module")
def found(several):
    return kinds(read_paths([several])[0])


def logged(folder, name):
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {record["iteration"]: record[name] for record in records if name in record}


def near(values):
    return pytest.approx(list(values), rel=1e-4)


def test_a_curve_is_the_mean_over_the_seeds_and_its_band_their_range(found):
    runs = found["lecun"]
    each = [logged(run.path, "valid_loss") for run in runs]
    chart = curves_chart([curve("lecun", runs, "valid_loss")], styles(found), "validation loss")
    band, line = chart["data"]
    iterations = list(each[0])
    assert line["x"] == iterations
    assert line["y"] == near(mean(values[i] for values in each) for i in iterations)
    assert band["x"] == iterations + iterations[::-1]
    high, low = ([pick(values[i] for values in each) for i in iterations] for pick in (max, min))
    assert band["y"] == near(high + low[::-1])
    assert band["legendgroup"] == line["legendgroup"] == "lecun"
    assert band["fillcolor"] == line["line"]["color"] == styles(found)["lecun"][0]


def test_seeds_are_averaged_where_all_of_them_logged(found, written, records):
    half = written([record for record in records if record["iteration"] in (5, 20, 60)])
    ((other,), _) = read_paths([half])
    assert curve("", [*found["random+ep"], other], "train_loss").iterations.tolist() == [5, 20, 60]
    assert curve("", [*found["random+ep"], other], "test_loss") is None


def test_one_run_has_no_band(run):
    chart = curves_chart([curve("training", [run], "train_loss")], styles(["training"]), "loss")
    (line,) = chart["data"]
    assert dict(zip(line["x"], line["y"], strict=True)) == pytest.approx(logged(run.path, "train_loss"), rel=1e-4)
    assert chart["layout"]["yaxis"]["type"] == "log"


def test_a_long_curve_is_thinned_and_keeps_its_peak(written):
    losses = {i: 1.0 + math.sin(i) / 10 for i in range(1, 5001)} | {3333: 9.0}
    lines = [{"iteration": i, "train_loss": loss, "gradient_norm": {"dense0": 1.0}} for i, loss in losses.items()]
    ((long,), _) = read_paths([written(lines)])
    (line,) = curves_chart([curve("a", [long], "train_loss")], styles("a"), "loss")["data"]
    assert 500 < len(line["x"]) <= 1000
    assert line["y"][line["x"].index(3333)] == 9.0
    assert all(losses[x] == pytest.approx(y, rel=1e-4) for x, y in zip(line["x"], line["y"], strict=True))


def test_many_names_are_told_apart_by_colour_and_dash():
    looks = styles([str(i) for i in range(24)])
    assert len(set(looks.values())) == 24
    assert {colour for colour, _ in looks.values()} == set(PALETTE)


def test_every_run_has_a_point_beside_the_papers():
    values = {"random+ep": [1.8, 1.7], "lecun": [2.0]}
    chart = results_chart(values, styles(values), {"lecun": 1.91}, "test error %")
    assert [(trace["x"], trace["y"]) for trace in chart["data"]] == [
        ([1.8, 1.7], [0, 0]),
        ([2.0], [1]),
        ([1.91], [1]),
    ]
    assert chart["layout"]["yaxis"]["ticktext"] == ["random+ep", "lecun"]


def test_a_long_name_beside_the_axis_goes_on_in_the_next_line():
    name = "random+ep, network.hidden 8 × 100, data.augment.alpha 3<4, iterations 3000"
    layout = results_chart({name: [1.0]}, styles([name]), {}, "test error %")["layout"]
    lines = layout["yaxis"]["ticktext"][0].split("<br>")
    assert " ".join(lines) == name.replace("<", "&lt;")
    assert max(map(len, lines)) <= 33
    assert layout["height"] == 120 + 17 * len(lines)


def test_norms_before_training_are_those_of_the_first_iteration(found):
    norms = {name: start_norms(runs) for name, runs in found.items()}
    chart = start_chart(norms, styles(found))
    for trace, runs in zip(chart["data"], found.values(), strict=True):
        each = [logged(run.path, "gradient_norm")[1] for run in runs]
        assert trace["x"] == list(each[0])
        assert trace["y"] == near(mean(norms[layer] for norms in each) for layer in each[0])


def test_a_heat_map_has_a_row_for_every_layer_and_a_column_for_every_iteration(run):
    (trace,) = heat_chart(run.metrics, 400)["data"]
    norms = logged(run.path, "gradient_norm")
    assert trace["x"] == list(norms)
    assert trace["y"] == ["dense0", "dense1", "dense2", "dense3"]
    for layer, row, logs in zip(trace["y"], trace["customdata"], trace["z"], strict=True):
        assert row == near(norms[i][layer] for i in norms)
        assert logs == near(math.log10(norms[i][layer]) for i in norms)
    assert trace["zmin"] <= min(map(min, trace["z"])) <= max(map(max, trace["z"])) <= trace["zmax"]


def test_a_gradient_of_zero_is_a_gap_in_the_map_and_a_number_in_its_label(written):
    lines = [{"iteration": i, "train_loss": 1.0, "gradient_norm": {"dense0": 0.0, "dense1": 1.0}} for i in (1, 2)]
    ((dead,), _) = read_paths([written(lines)])
    (trace,) = heat_chart(dead.metrics, 400)["data"]
    assert trace["z"] == [[None, None], [0, 0]]
    assert trace["customdata"] == [[0, 0], [1, 1]]


def test_the_profile_holds_every_iteration_of_the_slider(run, records):
    found = profile(run.metrics, 100)
    assert found["iterations"] == [record["iteration"] for record in records]
    for field, name in {"norms": "gradient_norm", "means": "activation_mean", "stds": "activation_std"}.items():
        for row, record in zip(found[field], records, strict=True):
            assert row == near(record[name].values())
    first, now = found["norms_chart"]["data"]
    assert first["y"] == now["y"] == found["norms"][0]
    low, high = found["norms_chart"]["layout"]["yaxis"]["range"]
    assert all(10**low < norm < 10**high for row in found["norms"] for norm in row)
    (activations,) = found["activations_chart"]["data"]
    assert (activations["y"], activations["error_y"]["array"]) == (found["means"][0], found["stds"][0])


def test_thousands_of_layers_are_thinned_to_what_can_be_drawn(written):
    layers = {f"dense{i}": 1.0 for i in range(3000)}
    ((deep,), _) = read_paths(
        [written([{"iteration": i, "train_loss": 1.0, "gradient_norm": layers} for i in range(1, 41)])]
    )
    found = profile(deep.metrics, capacity([deep])[1])
    assert (len(found["layers"]), found["layers"][0], found["layers"][-1]) == (300, "dense0", "dense2999")
    (trace,) = heat_chart(deep.metrics, capacity([deep])[0])["data"]
    assert len(trace["y"]) == 300
    assert found["activations_chart"] is None


def test_many_deep_runs_share_the_capacity(run):
    columns, frames = capacity([run] * 5000)
    assert 2 <= frames <= columns < 10
    assert capacity([run]) == (400, 100)


@pytest.mark.parametrize("value", [1e308, 1e-308])
def test_numbers_at_the_end_of_their_range_make_finite_charts(written, value):
    lines = [{"iteration": i, "train_loss": value, "gradient_norm": {"a": value, "b": 1.0}} for i in (1, 2)]
    runs, _ = read_paths([written(lines, name="a"), written(lines, {"seed": 1}, name="b")])
    metrics = runs[0].metrics
    charts = [curves_chart([curve("a", runs, "train_loss")], styles("a"), "loss"), heat_chart(metrics, 9)]
    json.dumps([*charts, profile(metrics, 9)], allow_nan=False)


def test_markup_in_a_name_is_shown_as_it_is():
    assert plain("<b>&lt;</b>") == "&lt;b&gt;&amp;lt;&lt;/b&gt;"
