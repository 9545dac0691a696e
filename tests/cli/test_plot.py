"""--plot: the same results, and a figure of them."""

import sys

import pytest

from tests.cli.command import cli

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.usefixtures("here")
STARTS = {"a.png": b"\x89PNG", "a.SVG": b"<?xml", "a.pdf": b"%PDF"}
SMALL = ("--hidden", "3x8", "--batch-size", "10")
TRAIN = ("xor", "--iterations", "3", "--hidden", "2x4")
COMMANDS = {
    "theory": ("theory", "--mu", "1"),
    "inspect": ("inspect", *SMALL),
    "inspect all": ("inspect", *SMALL, "--init", "all", "--json"),
    "inspect run": ("inspect", "run"),
    "compare": ("compare", *TRAIN, "--init", "lecun", "--seeds", "1", "--out", "runs"),
}


@pytest.mark.parametrize(("command", "name"), list(zip(COMMANDS, [*STARTS, *STARTS], strict=False)))
def test_the_figure_comes_beside_what_is_printed_without_it(here, command, name):
    if command == "inspect run":
        assert cli("train", *TRAIN, "--out", "run").exit_code == 0
    plain, drawn = cli(*COMMANDS[command]), cli(*COMMANDS[command], "--plot", name)
    assert (drawn.exit_code, drawn.stdout, drawn.stderr) == (0, plain.stdout, "")
    assert (here / name).read_bytes().startswith(STARTS[name])


@pytest.mark.parametrize("command", ["theory", "inspect", "compare"])
@pytest.mark.parametrize(
    ("name", "words"),
    [("a.jpg", "must end in .png, .svg, .pdf"), ("", "it is empty"), ("nosuch/a.png", "there is no folder nosuch")],
)
def test_another_ending_is_refused_before_anything_is_done(here, command, name, words):
    result = cli(*COMMANDS[command], "--plot", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("command", ["inspect", "compare"])
def test_the_ending_is_looked_at_before_data_are(command):
    assert "must end in" in cli(command, "nosuch", "--plot", "a.jpg").stderr


@pytest.mark.parametrize("command", ["theory", "inspect", "compare"])
def test_without_matplotlib_it_is_said_before_anything_is_done(here, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = cli(*COMMANDS[command], "--plot", "a.png")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install 'minisig[viz]'" in result.stderr
    assert list(here.iterdir()) == []


def test_a_comparison_keeps_the_curves_in_its_folder(here):
    assert cli(*COMMANDS["compare"], "--plot", "a.svg").exit_code == 0
    assert (here / "runs" / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("line", ["", "nonsense\n", '{"iteration": 1}\n', "[" * 10**5 + "\n"])
def test_a_run_whose_metrics_are_anybodys_is_refused(here, line):
    assert cli("train", *TRAIN, "--out", "run").exit_code == 0
    (here / "run" / "metrics.jsonl").write_text(line)
    result = cli("inspect", "run", "--plot", "a.png")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "metrics.jsonl" in result.stderr
    assert not (here / "a.png").exists()
