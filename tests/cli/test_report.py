"""minisig report, and the reports that train and compare leave: where they are, what is said, and how they say no."""

import json
import shutil
import sys

import pytest

from tests.cli.command import cli

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

pytestmark = pytest.mark.usefixtures("here")
XOR = ("compare", "xor", "--init", "lecun,ortho", "--seeds", "2", "--iterations", "5")


@pytest.fixture(scope="module", autouse=True)
def without_reports():
    """Not here."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    result = cli("train", "xor", "--iterations", 5, "--seed", 3, "--out", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    return folder, result.stdout


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "comparison"
    result = cli(*XOR, "--out", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    return folder, result.stdout


def html(path):
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>")
    return text


def test_train_leaves_a_report_and_says_so(run):
    folder, stdout = run
    assert "minisig train xor --iterations 5 --seed 3" in html(folder / "report.html")
    assert stdout.splitlines()[-1].endswith(f"saved in {folder}, see report.html there")


def test_compare_leaves_a_report_and_says_so(comparison):
    folder, stdout = comparison
    assert "minisig compare xor --init ortho,lecun --seeds 2 --iterations 5" in html(folder / "report.html")
    assert stdout.splitlines()[-1] == f"runs, tables and curves are in {folder}, see report.html there"


@pytest.mark.parametrize("args", [("train", "xor", "--iterations", 2), (*XOR[:-1], 2)], ids=lambda args: args[0])
def test_json_stays_one_object_and_the_report_is_written(here, args):
    result = cli(*args, "--out", "run", "--json")
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (0, "", 1)
    assert "report" not in json.loads(result.stdout)
    assert (here / "run" / "report.html").is_file()


@pytest.mark.parametrize("missing", ["plotly", "jinja2"])
def test_without_what_draws_it_there_is_no_report_and_no_word(here, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    result = cli("train", "xor", "--iterations", 2, "--out", "run")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "report" not in result.stdout
    assert not (here / "run" / "report.html").exists()


def test_asked_for_without_what_draws_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    result = cli("report", run[0])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install 'minisig[viz]'" in result.stderr


def test_a_report_that_fails_does_not_fail_the_run(here, monkeypatch):
    def fail(*args):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("minisig.report.page.render", fail)
    result = cli("train", "xor", "--iterations", 2, "--out", "run")
    assert (result.exit_code, result.stderr) == (0, "no report was written: division by zero\n")
    assert result.stdout.splitlines()[-1].endswith("saved in run")
    assert (here / "run" / "summary.json").is_file()


def test_a_resumed_run_is_reported_anew(run, here):
    shutil.copytree(run[0], here / "run")
    result = cli("train", "--resume", "run", "--iterations", 8)
    assert result.exit_code == 0
    assert "minisig train xor --iterations 8 --seed 3" in html(here / "run" / "report.html")


def test_one_path_is_reported_in_its_folder(run, here):
    folder = here / "run"
    shutil.copytree(run[0], folder)
    (folder / "report.html").unlink()
    result = cli("report", "run")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "run/report.html\n", "")
    html(folder / "report.html")


def test_several_paths_are_reported_here(run, comparison, here):
    result = cli("report", run[0], comparison[0], "--json")
    assert json.loads(result.stdout) == {"report": "report.html", "runs": 5}
    assert [path.name for path in here.iterdir()] == ["report.html"]


def test_a_folder_is_reported_with_its_comparisons_and_without_what_has_only_begun(run, comparison, here):
    shutil.copytree(comparison[0], here / "runs" / "compare-xor")
    result = cli("report", "runs", "--json")
    assert (json.loads(result.stdout)["runs"], result.stderr) == (4, "")
    shutil.copytree(run[0], here / "runs" / "xor")
    (here / "runs" / "\x1b[31mred").mkdir()
    shutil.copy(run[0] / "config.json", here / "runs" / "\x1b[31mred")
    result = cli("report", "runs", "--json")
    assert (result.exit_code, json.loads(result.stdout)["runs"]) == (0, 5)
    assert result.stderr == (
        "left out: runs/\\x1b[31mred has not logged anything yet: there is no metrics.jsonl in it\n"
    )


def test_the_same_runs_give_the_same_bytes(run, here):
    for name in ("a.html", "b.html"):
        assert cli("report", run[0], "--out", name).exit_code == 0
    assert (here / "a.html").read_bytes() == (here / "b.html").read_bytes()


def damaged(folder, here, name, content):
    shutil.copytree(folder, here / "bad")
    if content is None:
        (here / "bad" / name).unlink()
    else:
        (here / "bad" / name).write_bytes(content)
    (here / "bad" / "report.html").unlink()


@pytest.mark.parametrize("content", [None, b"", b"\x00" * 100], ids=["missing", "empty", "zeros"])
@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "summary.json"])
def test_what_is_damaged_or_missing_is_refused(run, here, name, content):
    damaged(run[0], here, name, content)
    result = cli("report", "bad")
    if (name, content) == ("summary.json", None):  # a run that is not finished
        assert result.exit_code == 0
        assert "Not finished" in html(here / "bad" / "report.html")
        return
    assert (result.exit_code, result.stdout) == (5, "")
    assert name in result.stderr
    assert result.stderr.startswith("Error: ")
    assert not (here / "bad" / "report.html").exists()


def test_a_line_that_was_cut_off_does_no_harm(run, here):
    whole = (run[0] / "metrics.jsonl").read_bytes()
    damaged(run[0], here, "metrics.jsonl", whole[:-20])
    assert cli("report", "bad").exit_code == 0


@pytest.mark.parametrize("args", [(), ("--out", "x.html"), ("RUN", "--out", ""), ("RUN", "--out", "."), ("RUN", "--x")])
def test_wrong_usage_is_refused(run, here, args):
    result = cli("report", *(run[0] if arg == "RUN" else arg for arg in args))
    assert (result.exit_code, result.stdout) == (2, "")
    assert not list(here.iterdir())


@pytest.mark.parametrize("path", ["nosuch", "..", "file"])
def test_what_is_no_run_is_refused(here, path):
    (here / "file").write_text("")
    result = cli("report", path)
    assert (result.exit_code, result.stdout) == (5, "")
    assert path in result.stderr
