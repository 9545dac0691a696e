"""A figure becomes a file of the format of its name, whole or not at all."""

import subprocess
import sys

import numpy as np
import pytest

from minisig.errors import MinisigError, UsageError
from minisig.report.figures import neuron_figure, new_figure, require_drawable, save
from minisig.report.figures.canvas import name_layers, numbers, widen

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_figure_is_saved_in_the_format_of_its_name(tmp_path, name, start):
    save(neuron_figure(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.png.txt", ".png"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(UsageError, match=r"must end in \.png, \.svg, \.pdf"):
        save(neuron_figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    with pytest.raises(MinisigError, match=r"cannot write .*nowhere/a\.png: No such file"):
        save(neuron_figure(), tmp_path / "nowhere" / "a.png")


def test_figures_that_nobody_holds_are_gone():
    for _ in range(25):
        new_figure(3, 2).subplots()
    assert pyplot.get_fignums() == []


def test_what_fails_in_the_middle_leaves_the_old_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"before")
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(MinisigError, match=r"cannot write .*a\.png: No space left"):
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


def test_a_logarithmic_axis_is_widened_around_its_middle_or_left_alone():
    axes = new_figure(3, 2).subplots()
    axes.set(yscale="log", ylim=(4.0, 9.0))
    widen(axes, 2)
    assert axes.get_ylim() == pytest.approx((0.6, 60.0))
    widen(axes, 1)
    assert axes.get_ylim() == pytest.approx((0.6, 60.0))


def test_what_is_no_finite_number_is_not_drawn():
    np.testing.assert_array_equal(numbers([1, None, float("inf"), -2.5]), [1, np.nan, np.nan, -2.5])
