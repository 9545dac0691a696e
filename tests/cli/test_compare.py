"""minisig compare: what it prints and writes, and how it says no."""

import csv
import re
from functools import partial
from io import StringIO
from statistics import mean, stdev

import pytest

from minisig.experiments import results
from tests.cli.command import cli, python_m, strict

pytestmark = pytest.mark.usefixtures("here")
QUICK = ("--iterations", 5)
XOR = ("xor", "--init", "lecun,ortho", "--seeds", 3, *QUICK)
WRITTEN = {"comparison.json", "comparison.csv", "comparison.md", "curves.png"}
cli = partial(cli, "compare")


@pytest.fixture
def refused(refused):
    """The last line that `minisig compare` says."""
    return lambda code, *args: refused(code, "compare", *args).splitlines()[-1]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished comparison of three seeds: what it printed, and its folder."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    folder = tmp_path_factory.mktemp("finished")
    result = cli(*XOR, "--out", folder)
    pyplot.close("all")
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout, folder


def printed(folder, *args):
    """What the finished comparison says in another form."""
    result = cli(*XOR, "--out", folder, *args)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


# What is printed and written


@pytest.mark.usefixtures("without_figures")
def test_json_is_one_object_as_designed_and_nothing_else(finished):
    _, folder = finished
    stdout = printed(folder, "--json")
    assert stdout.count("\n") == 1
    found = strict(stdout)
    assert found.keys() >= {"experiment", "metric", "rows"}
    assert (found["experiment"], found["metric"]) == ("xor", "test_error")
    assert [row["init"] for row in found["rows"]] == ["lecun", "ortho"]
    for row in found["rows"]:
        values = [
            strict((path / "summary.json").read_text())["test_error"]
            for path in sorted(folder.glob(f"{row['init']}-seed*"))
        ]
        assert row["values"] == values
        assert len(values) == 3
        assert (row["mean"], row["std"]) == (mean(values), stdev(values))


@pytest.mark.usefixtures("without_figures")
def test_short_for_json_is_json(finished):
    _, folder = finished
    assert printed(folder, "--json") == printed(folder, "--format", "json")


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize(("form", "suffix"), [("json", "json"), ("csv", "csv"), ("markdown", "md")])
def test_every_form_that_is_printed_is_also_written(finished, form, suffix):
    _, folder = finished
    assert printed(folder, "--format", form) == (folder / f"comparison.{suffix}").read_text(encoding="utf-8")


@pytest.mark.usefixtures("without_figures")
def test_csv_has_a_line_for_every_run(finished):
    _, folder = finished
    rows = list(csv.DictReader(StringIO(printed(folder, "--format", "csv"))))
    assert [(row["experiment"], row["init"], row["seed"]) for row in rows] == [
        ("xor", init, str(seed)) for init in ("lecun", "ortho") for seed in range(3)
    ]
    found = strict((folder / "comparison.json").read_text())
    assert [float(row["test_error"]) for row in rows] == [value for row in found["rows"] for value in row["values"]]


def test_people_are_told_the_table_and_the_folder(finished):
    stdout, folder = finished
    found = strict((folder / "comparison.json").read_text())
    for row in found["rows"]:
        assert re.search(rf"^{row['init']} +{row['mean']:.2f} ± {row['std']:.2f} ", stdout, re.MULTILINE)
    assert "3 seeds of 5 iterations" in stdout
    assert stdout.splitlines()[-1] == f"runs, tables and curves are in {folder}"


def test_the_folder_holds_tables_curves_and_runs(finished):
    _, folder = finished
    names = {
        path.name for path in folder.iterdir() if not re.fullmatch(r"(lecun|ortho)-seed[012]-[0-9a-f]{16}", path.name)
    }
    assert names == WRITTEN
    assert len(list(folder.iterdir())) == len(WRITTEN) + 6
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("without_figures")
def test_without_matplotlib_all_but_the_curves_is_written(here):
    assert cli("xor", "--init", "lecun", "--seeds", 1, *QUICK).exit_code == 0
    assert {path.name for path in (here / "runs" / "compare-xor").iterdir() if path.is_file()} == WRITTEN - {
        "curves.png"
    }


@pytest.mark.usefixtures("without_figures")
def test_one_seed_has_no_deviation():
    result = cli("xor", "--init", "lecun", "--seeds", 1, *QUICK)
    assert re.search(r"^lecun +\d+\.\d\d +–", result.stdout, re.MULTILINE)
    assert "one seed of" in result.stdout
    (row,) = strict(cli("xor", "--init", "lecun", "--seeds", 1, *QUICK, "--json").stdout)["rows"]
    assert (row["std"], row["mean"]) == (None, row["values"][0])


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize(("experiment", "seeds"), [("xor", 10), ("digits", 4)])
def test_as_many_seeds_as_the_paper_has_unless_told(experiment, seeds):
    result = cli(experiment, "--init", "lecun", "--iterations", 1, "--hidden", 2, "--json")
    assert [len(row["values"]) for row in strict(result.stdout)["rows"]] == [seeds]


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize(
    ("args", "rows"),
    [
        (["xor"], ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun"]),
        (["copy-memory"], ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun", "lstm"]),
        (["copy-memory", "--model", "lstm"], ["ortho", "glorot", "lecun"]),
        (["copy-memory", "--init", "ortho,lstm,ortho"], ["ortho", "lstm"]),
        pytest.param(
            ["copy-memory", "--model", "rnn"],
            ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun"],
        ),
    ],
    ids=lambda value: " ".join(value),
)
def test_all_means_what_the_model_can_have(args, rows):
    short = ("--set", "data.delay=3") if "copy-memory" in args else ()
    small = ("--hidden", 3, "--seeds", 1, "--iterations", 1, "--batch-size", 4)
    result = cli(*args, *short, *small, "--json")
    assert [row["init"] for row in strict(result.stdout)["rows"]] == rows


def test_as_a_process_in_a_pipe_it_is_quiet_on_stderr_and_clean_on_stdout(here):
    args = ("xor", "--init", "lecun", "--seeds", 2, *QUICK, "--workers", 2, "--json", "--out", "runs")
    done = python_m("compare", *args)
    assert (done.returncode, done.stderr) == (0, b"")
    assert strict(done.stdout) == strict((here / "runs" / "comparison.json").read_text())


def test_on_a_terminal_every_run_is_named_and_stdout_stays_clean(here, on_a_terminal):
    args = ("compare", "xor", "--init", "lecun,ortho", "--seeds", 2, *QUICK, "--json")
    stdout, shown = on_a_terminal(*args, env={"NO_COLOR": "1"})
    strict(stdout)
    for init in ("lecun", "ortho"):
        for seed in range(2):
            assert f"{init}, seed {seed}: " in shown
    assert "4/4" in shown


# Several comparisons in one folder


@pytest.mark.usefixtures("without_figures")
def test_comparisons_of_different_networks_or_data_keep_their_own_tables(here):
    def tables():
        return {path.name: strict(path.read_text()) for path in (here / "runs").glob("comparison*.json")}

    def compared(*args):
        result = cli("xor", "--init", "lecun", "--seeds", 1, *QUICK, "--out", "runs", *args)
        assert result.exit_code == 0
        return result.stdout

    compared()
    first = tables()
    assert "as comparison-2, beside another comparison's" in compared("--hidden", 3)
    compared("--data", table(here, 1), "--batch-size", 10)
    assert first.items() <= tables().items()
    assert tables().keys() == {f"comparison{n}.json" for n in ("", "-2", "-3")}
    assert len({found["identity"] for found in tables().values()}) == 3
    compared("--hidden", 3, "--init", "ortho", "--seeds", 2)  # more of the second
    assert [len(row["values"]) for row in tables()["comparison-2.json"]["rows"]] == [2]
    compared("--data", table(here, 2), "--batch-size", 10)  # the same name, other data
    assert tables().keys() == {f"comparison{n}.json" for n in ("", "-2", "-3", "-4")}
    assert {path.suffix for path in (here / "runs").glob("comparison-4.*")} == {".json", ".csv", ".md"}


def table(folder, shift):
    path = folder / "mine.csv"
    path.write_text("".join(f"{i},{-i},{(i // shift) % 2}\n" for i in range(60)))
    return path


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("content", ['{"experiment": "xor"}', "{", "[]"])
def test_a_table_that_is_not_ours_is_left_as_it_is(here, content):
    (here / "runs").mkdir()
    (here / "runs" / "comparison.json").write_text(content)
    assert cli("xor", "--init", "lecun", "--seeds", 1, *QUICK, "--out", "runs").exit_code == 0
    assert (here / "runs" / "comparison.json").read_text() == content
    assert (here / "runs" / "comparison-2.md").exists()


# Wrong usage


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["xro"], "Did you mean 'xor'?"),
        (["xor", "--init", "lecum"], "unknown init 'lecum'. Did you mean 'lecun'?"),
        (["xor", "--init", "lecun,otho"], "unknown init 'otho'. Did you mean 'ortho'?"),
        (["xor", "--init", "lecun,"], "unknown init ''"),
        (["xor", "--init", ""], "unknown init ''"),
        (["xor", "--init", "lstm"], "unknown init 'lstm'"),
        (["xor", "--set", "network.init=ortho"], "network.init is what the rows of a comparison differ in"),
        (["xor", "--init", "lecun", "--set", "network.init=lecun"], "network.init is what the rows"),
        (["copy-memory", "--init", "lstm", "--model", "rnn"], "network.model is what the rows"),
        (["mnist-deep", "--activation", "sigmoid"], "network.activation is what the rows"),
        (["xor", "--workers", "2", "--scheduler", "tcp://127.0.0.1:9"], "--workers and --scheduler exclude each other"),
        (["xor", "--workers", "0"], "--workers"),
        (["xor", "--seeds", "0"], "--seeds"),
        (["xor", "--seeds", "many"], "--seeds"),
        (["xor", "--threads", "0"], "--threads"),
        (["xor", "--scheduler", ""], "--scheduler"),
        (["xor", "--out", ""], "--out"),
        (["xor", "--format", "html"], "--format"),
        (["xor", "--iterations", "0"], "--iterations"),
        (["xor", "--learning-rate", "nan"], "--learning-rate"),
        (["xor", "--set", "nosuch=1"], "nosuch"),
        (["xor", "--set", "experiment=digits"], "the experiment is named first"),
        (["xor", "--seed", "1"], "--seed"),
        (["--seeds", "1"], "EXPERIMENT"),
        ([], "EXPERIMENT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_usage_is_explained(refused, args, words):
    assert words in refused(2, *args)


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize(
    ("out", "code", "words"),
    [("file", 2, "file is a file; choose a folder"), ("file/runs", 1, "cannot write to file/runs")],
)
def test_a_file_is_no_folder_to_write_to(here, out, code, words):
    (here / "file").write_text("mine")
    result = cli("xor", "--init", "lecun", "--seeds", 1, *QUICK, "--out", out)
    assert (result.exit_code, result.stdout) == (code, "")
    assert re.fullmatch(rf"Error: {words}.*\n", result.stderr)
    assert (here / "file").read_text() == "mine"


@pytest.mark.usefixtures("without_figures")
def test_a_folder_that_cannot_be_written_to_is_found_out_before_anything_is_trained(here, monkeypatch):
    (here / "file").write_text("mine")
    monkeypatch.setattr(results, "run", lambda *args, **kwargs: pytest.fail("training"))
    result = cli("xor", "--init", "lecun", "--seeds", 1, *QUICK, "--out", "file/runs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cannot write to file/runs" in result.stderr
