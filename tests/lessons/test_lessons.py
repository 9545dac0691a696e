"""Every lesson is run, and what it teaches is true of the numbers it came by."""

import subprocess
import sys
from importlib import import_module
from math import log, pi, sqrt
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from threadpoolctl import threadpool_limits

from minisig import theory
from minisig.cli import main as cli
from minisig.lessons import LESSONS, titles
from minisig.lessons.stage import picture, run
from minisig.report.figures import new_figure

pytest.importorskip("matplotlib")


@pytest.fixture
def taught(tmp_path, capsys):
    """Run a lesson: what it found and what it said. Its figure must be there and its last word a question."""

    def teach(name):
        with threadpool_limits(1, user_api="blas"):
            found = import_module(f"minisig.lessons.{name}").main(tmp_path / "new")
        assert [path.name for path in (tmp_path / "new").iterdir()] == [f"{name}.png"]
        assert (tmp_path / "new" / f"{name}.png").stat().st_size > 10_000
        said = capsys.readouterr().out
        assert "?" in said[said.index("\nTry: ") :]
        assert f"The figure is {tmp_path / 'new' / name}.png." in said
        assert max(map(len, said.replace(str(tmp_path), "").splitlines())) <= 120
        return found, said

    return teach


def test_neuron_the_entropy_measured_is_the_theorys_and_lies_within_the_papers_bounds(taught):
    found, said = taught("neuron")
    np.testing.assert_allclose(found["measured"], found["H"], atol=0.01)
    assert (found["H_B"] - 2 * log(2) <= found["H"]).all()
    assert (found["H"] < found["H_B"]).all()
    assert found["sigmas"][found["H_B"].argmax()] == pytest.approx(sqrt(pi / 2))
    assert found["sigmas"][found["H"].argmax()] == pytest.approx(1.7488, abs=1e-4)
    assert "0.071 nats" in said


def test_writing_it_learns_to_write_from_letters_to_words(taught):
    found, said = taught("writing")
    bits = list(found["bits"].values())
    assert bits == sorted(bits, reverse=True)
    assert bits[-1] < 3.2 < np.log2(found["unigram"]) < np.log2(70)
    for p in found["drawn"].values():
        assert p.sum() == pytest.approx(1)
    sharp, plain, blurred = (p.max() for p in found["drawn"].values())
    assert sharp > plain > blurred
    assert np.argmax(found["looked"]) >= len(found["looked"]) - 3
    assert all(" ".join(text.split()) in said for text in found["written"].values())


def test_backprop_the_complex_step_is_exact_where_a_real_one_is_not_and_finds_the_mistake(taught):
    found, said = taught("backprop")
    assert found["errors"]["complex"][10:].max() < 1e-15
    assert 1e-10 < found["errors"]["real"].min() < 1e-6
    assert found["checks"]["right"].error < 1e-10
    wrong = {name for name, mismatch in found["checks"]["careless"].by_array.items() if mismatch.error > 0.01}
    assert wrong == {"dense0.W", "dense0.b", "dense1.W", "dense1.b", "x"}
    assert "wrong: nothing" in said


def test_depth_every_layer_multiplies_the_gradient_by_what_is_expected(taught):
    found, _ = taught("depth")
    for measured, expected in found["factors"].values():
        assert measured == pytest.approx(expected, rel=0.1)
    assert found["factors"]["random+ep"][1] == pytest.approx(sqrt(1.0612), rel=0.05)
    assert found["norms"]["lecun"][0] < 1e-12 * found["norms"]["lecun"][-1]
    assert 0.2 < found["norms"]["random+ep"][0] / found["norms"]["random+ep"][-1] < 5


def test_ellipse_the_projection_is_the_nearest_point_and_gives_the_deviation_wanted(taught):
    found, _ = taught("ellipse")
    np.testing.assert_allclose(found["variance"], pi / 2, rtol=1e-12)
    distance = found["distance"]
    np.testing.assert_allclose(distance["projected"], distance["searched"], atol=1e-4)
    assert (distance["projected"] <= distance["scaled"] + 1e-12).all()
    assert distance["projected"].mean() < 0.9 * distance["scaled"].mean()
    np.testing.assert_allclose(found["std"], theory.best_sigma(), rtol=0.05)


def test_through_time_the_loop_by_hand_is_what_is_measured_and_no_bound_is_broken(taught):
    found, _ = taught("through_time")
    for init, bounds in found["bounds"].items():
        np.testing.assert_allclose(found["by_hand"][init], [row.measured for row in bounds.rows], rtol=1e-9)
        for row in bounds.rows:
            assert row.measured <= row.spectral * (1 + 1e-9)
            assert row.spectral <= row.frobenius * (1 + 1e-9)
    verdicts = {init: bounds.verdict for init, bounds in found["bounds"].items()}
    assert verdicts == {"lecun": "vanishes: guaranteed by the bound", "ortho+ep": "alive"}


def test_reading_a_run_the_ratio_tells_the_network_that_learns_from_the_one_that_does_not(taught):
    found, said = taught("reading_a_run")
    ratios = {init: metrics.norms[:, 0] / metrics.norms[:, -1] for init, metrics in found["runs"].items()}
    assert ratios["random+ep"].min() > 0.1
    assert ratios["lecun"].max() < 1e-4
    assert found["summaries"]["random+ep"]["test_error"] < 10
    assert found["runs"]["lecun"].scalars["train_loss"][-1] == pytest.approx(log(10), abs=0.1)
    assert f"test error {found['summaries']['lecun']['test_error']:.1f} %" in said


def test_as_a_command_it_says_the_same_without_matplotlib_and_what_to_install(tmp_path):
    code = (
        "import sys, runpy; sys.modules['matplotlib'] = None; sys.argv = ['neuron.py', '--out', sys.argv[1]];"
        "runpy.run_module('minisig.lessons.neuron', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "new"], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install 'minisig[viz]'" in done.stdout
    assert "Try: " in done.stdout
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_written_to_is_named_without_a_traceback(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "argv", ["neuron.py", "--out", str(tmp_path / "file")])
    with pytest.raises(SystemExit) as caught:
        run(lambda out: picture(out / "neuron.png", lambda: new_figure(2, 2)))
    assert caught.value.code == 1
    assert capsys.readouterr().err == f"Error: cannot write to {tmp_path / 'file'}: File exists\n"


def test_the_list_has_every_script_with_its_sentence():
    result = CliRunner().invoke(cli, ["lessons"])
    assert result.exit_code == 0
    for name in LESSONS:
        first_line = Path(import_module(f"minisig.lessons.{name}").__file__).read_text(encoding="utf-8").split('"""')[1]
        assert f"python -m minisig.lessons.{name}\n    {first_line}\n" in result.stdout
    folder = Path(import_module("minisig.lessons").__file__).parent
    assert {path.stem for path in folder.glob("*.py")} == {*LESSONS, "__init__", "stage"}
    assert titles().keys() == set(LESSONS)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_fits_on_a_few_slides(name):
    assert len(Path(import_module(f"minisig.lessons.{name}").__file__).read_text().splitlines()) <= 85
