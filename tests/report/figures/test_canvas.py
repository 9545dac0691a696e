"""A figure becomes a file of the format of its name, whole or not at all."""

import os
import subprocess
import sys

import numpy as np
import pytest

from minisig.errors import MinisigError, UsageError
from minisig.report.figures import new_figure, require_drawable, save
from minisig.report.figures.canvas import at_least, name_layers, numbers, over_losses
from tests.faults.disk import TOO_LARGE, little_room

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_figure_is_saved_in_the_format_of_its_name(tmp_path, name, start):
    save(new_figure(2, 2), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.png.txt", ".png"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(UsageError, match=r"must end in \.png, \.svg, \.pdf"):
        save(new_figure(2, 2), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    with pytest.raises(MinisigError, match=r"cannot write .*nowhere/a\.png: No such file"):
        save(new_figure(2, 2), tmp_path / "nowhere" / "a.png")


def test_figures_that_nobody_holds_are_gone():
    for _ in range(25):
        new_figure(3, 2).subplots()
    assert pyplot.get_fignums() == []


@pytest.mark.skipif(os.name == "nt", reason="no limits on files there")
def test_what_fails_in_the_middle_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"before")
    with little_room(100), pytest.raises(MinisigError, match=rf"cannot write .*a\.png: {TOO_LARGE}"):
        save(new_figure(2, 2), path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib_it_is_said_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (lambda: new_figure(2, 2), lambda: require_drawable(tmp_path / "a.png")):
        with pytest.raises(MinisigError, match=r"pip install 'minisig\[viz\]'"):
            call()


def test_importing_figures_imports_no_matplotlib():
    code = "import sys, minisig.report.figures; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("count", "shown"), [(9, 9), (10, 5), (101, 8)])
def test_of_many_layers_some_are_named_each_at_its_own_place(count, shown):
    axes = new_figure(5, 3).subplots()
    name_layers(axes.xaxis, [f"dense{i}" for i in range(count)])
    assert len(axes.get_xticks()) == shown
    assert [text.get_text() for text in axes.get_xticklabels()] == [f"dense{int(i)}" for i in axes.get_xticks()]


def test_limits_are_spread_around_their_middle_or_left_alone():
    assert at_least(4.0, 9.0, 2) == pytest.approx((0.6, 60.0))
    assert at_least(0.6, 60.0, 1) == (0.6, 60.0)
    assert at_least(5.0, 5.0, 2) == pytest.approx((0.5, 50.0))


def test_a_few_iterations_are_marked_by_whole_numbers_and_losses_by_plain_ones():
    figure = new_figure(4, 3)
    axes = figure.subplots()
    axes.plot([1, 2, 3], [2.3, 2.2, 2.1])
    over_losses(axes)
    figure.draw_without_rendering()
    assert all(float(tick).is_integer() for tick in axes.get_xticks())
    labels = [text.get_text() for text in axes.yaxis.get_minorticklabels() + axes.yaxis.get_majorticklabels()]
    assert {"1", "3"} <= set(labels)
    assert all(float(label) > 0 for label in labels)


def test_what_is_no_finite_number_is_not_drawn():
    np.testing.assert_array_equal(numbers([1, None, float("inf"), -2.5]), [1, np.nan, np.nan, -2.5])
