"""minisig compare: what it prints and writes, how it is interrupted, and how it says no."""

import csv
import os
import re
import signal
import subprocess
import time
from functools import partial
from io import StringIO
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest

import minisig.experiments.compare as module
from minisig.errors import DataError, Diverged
from tests.cli.command import PYTHON_M, cli, strict, tree

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
    assert (row["std"], row["mean"]) == (0.0, row["values"][0])


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


def started(*args, **options):
    """`minisig compare` as a process, and the leader of a group of them."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*PYTHON_M, "compare", *map(str, args)], start_new_session=True, **pipes | options)


def test_as_a_process_in_a_pipe_it_is_quiet_on_stderr_and_clean_on_stdout(here):
    with started("xor", "--init", "lecun", "--seeds", 2, *QUICK, "--workers", 2, "--json", "--out", "runs") as process:
        stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr) == (0, "")
    assert strict(stdout) == strict((here / "runs" / "comparison.json").read_text())


def test_on_a_terminal_every_run_is_named_and_stdout_stays_clean(here, on_a_terminal):
    args = ("compare", "xor", "--init", "lecun,ortho", "--seeds", 2, *QUICK, "--json")
    stdout, shown = on_a_terminal(*args, env={"NO_COLOR": "1"})
    strict(stdout)
    for init in ("lecun", "ortho"):
        for seed in range(2):
            assert f"{init}, seed {seed}: " in shown
    assert "4/4" in shown


# Interruptions

LONGER = ("xor", "--init", "lecun,ortho", "--seeds", 4, "--iterations", 1500, "--out", "runs")


def wait_until(true):
    """Long enough for a machine that is busy with other things."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def finished_runs(folder):
    return [path for path in folder.glob("*-seed*") if path.is_dir()]


def living(group):
    """The processes of a group that are not dead, or waiting for somebody to take note of it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):  # it has gone while we looked
            continue
        if int(of_group) == group and state != "Z":
            found.append(path.parent.name)
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to look for processes in")


def without_seconds(folder):
    found = strict((folder / "comparison.json").read_text())
    lines = (folder / "comparison.csv").read_text().splitlines()
    return (
        [{name: value for name, value in row.items() if name != "seconds"} for row in found["rows"]],
        [line.rpartition(",")[0] for line in lines],
        (folder / "comparison.md").read_text(),
    )


@pytest.mark.usefixtures("without_figures")
def test_a_comparison_that_was_killed_goes_on_to_the_same_table(here):
    with started(*LONGER) as process:
        wait_until(lambda: finished_runs(here / "runs"))
        process.kill()
    assert process.returncode == -signal.SIGKILL
    kept = {path: data for run in finished_runs(here / "runs") for path, data in tree(run).items()}
    assert 3 <= len(kept) < 3 * 8  # files
    assert not (here / "runs" / "comparison.json").exists()
    assert cli(*LONGER).exit_code == 0
    assert tree(here / "runs").items() > kept.items()
    assert cli(*LONGER[:-1], "straight").exit_code == 0
    assert without_seconds(here / "runs") == without_seconds(here / "straight")


@pytest.fixture
def interruptible():
    """Ctrl-C is heard, which it is not by what was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@needs_proc
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("workers", [(), ("--workers", 2)], ids=["here", "processes"])
def test_ctrl_c_ends_it_with_all_its_processes_and_no_traceback(here, workers):
    with started(*LONGER, *workers) as process:
        wait_until(lambda: finished_runs(here / "runs"))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        stdout, stderr = process.communicate(timeout=60)
    wait_until(lambda: not living(process.pid))
    assert process.returncode == 130
    kept = "finished runs are kept in runs, the same command goes on with the others"
    assert (stdout, stderr) == ("", f"Error: stopped; {kept}\n")
    assert {path.name for path in (here / "runs").iterdir()} == {path.name for path in finished_runs(here / "runs")}


@needs_proc
@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGKILL], ids=["terminated", "killed"])
def test_workers_do_not_outlive_a_comparison_that_is_ended(here, signal_):
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # or orphans keep our pipes open
    process = started(*LONGER, "--workers", 2, **nothing)
    try:
        wait_until(lambda: finished_runs(here / "runs"))
        process.send_signal(signal_)
        process.wait(60)
        wait_until(lambda: not living(process.pid))
    finally:
        if living(process.pid):
            os.killpg(process.pid, signal.SIGKILL)


# Runs that fail


DIVERGED, MISSING = Diverged("diverged at iteration 3"), DataError("no such data")


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize(
    ("failures", "code"),
    [
        ({("lecun", 1): DIVERGED}, 4),
        ({("lecun", 0): DIVERGED, ("lecun", 1): DIVERGED, ("ortho", 2): DIVERGED}, 4),
        ({("lecun", 1): MISSING}, 5),
        ({("lecun", 1): DIVERGED, ("ortho", 0): MISSING}, 1),
        ({("lecun", 1): ZeroDivisionError("by zero")}, 1),
    ],
)
def test_failing_runs_are_named_the_others_finish_and_the_exit_code_tells_the_kind(here, fail, failures, code):
    fail(failures)
    result = cli(*XOR, "--out", "runs")
    assert result.exit_code == code
    assert re.fullmatch(rf"Error: {len(failures)} of 6 runs failed; the first: .*\n", result.stderr)
    found = strict((here / "runs" / "comparison.json").read_text())
    for row in found["rows"]:
        failed = {str(seed): error for (init, seed), error in failures.items() if init == row["init"]}
        assert row["failed"].keys() == failed.keys()
        assert len(row["values"]) == 3 - len(failed)
        for seed, error in failed.items():
            (line,) = (x for x in result.stdout.splitlines() if x.startswith(f"failed: {row['init']}, seed {seed}: "))
            assert str(error) in line
            assert str(error) in row["failed"][seed]
    assert len(finished_runs(here / "runs")) == 6 - len(failures)


@pytest.mark.usefixtures("without_figures")
def test_with_json_a_failure_leaves_one_object_on_stdout(fail):
    fail({("lecun", 1): DIVERGED})
    result = cli(*XOR, "--json")
    assert (result.exit_code, result.stdout.count("\n"), result.stderr.count("\n")) == (4, 1, 1)
    assert strict(result.stdout)["rows"][0]["failed"] == {"1": str(DIVERGED)}


@pytest.mark.usefixtures("without_figures")
def test_the_next_try_makes_what_failed_and_nothing_else(here, fail):
    fail({("lecun", 1): DIVERGED})
    assert cli(*XOR, "--out", "runs").exit_code == 4
    before = {path: data for run in finished_runs(here / "runs") for path, data in tree(run).items()}
    fail({})
    assert cli(*XOR, "--out", "runs").exit_code == 0
    assert tree(here / "runs").items() > before.items()
    assert len(finished_runs(here / "runs")) == 6


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("rate", ["1e30", "1e300"])
def test_when_every_run_diverges_the_exit_code_says_so(rate):
    result = cli(*XOR, "--iterations", 100, "--learning-rate", rate)
    assert result.exit_code == 4
    assert re.fullmatch(r"Error: 6 of 6 runs failed; the first: diverged .*\n", result.stderr)


@pytest.mark.usefixtures("without_figures")
def test_when_every_run_fails_each_is_told_or_what_is_wrong_with_all(fail):
    fail({(init, seed): Diverged(f"by {init} {seed}") for init in ("lecun", "ortho") for seed in range(3)})
    assert len(re.findall(r"^failed: ", cli(*XOR).stdout, re.MULTILINE)) == 6
    assert [len(row["failed"]) for row in strict(cli(*XOR, "--json").stdout)["rows"]] == [3, 3]
    fail({(init, seed): DIVERGED for init in ("lecun", "ortho") for seed in range(3)})
    assert cli(*XOR).stdout == ""


@pytest.mark.usefixtures("without_figures")
def test_a_run_that_lacks_memory_says_what_to_do(fail):
    fail({("lecun", 1): MemoryError("Unable to allocate 2.98 GiB")})
    assert "failed: lecun, seed 1: not enough memory: make the network or the batch smaller" in cli(*XOR).stdout


@pytest.mark.usefixtures("without_figures")
def test_the_table_is_shown_though_it_cannot_be_written(here):
    (here / "runs" / "comparison.json").mkdir(parents=True)  # where a file should go
    result = cli(*XOR, "--out", "runs")
    assert (result.exit_code, result.stderr) == (1, "Error: cannot write to runs: Is a directory\n")
    assert re.search(r"^lecun +\d", result.stdout, re.MULTILINE)


@pytest.mark.usefixtures("without_figures")
def test_runs_on_other_data_under_the_same_name_are_made_anew(here):
    x = np.linspace(-1, 1, 60)
    args = ("digits", "--data", "mine.csv", "--hidden", 4, "--init", "lecun", "--seeds", 1, *QUICK, "--out", "runs")
    for made, y in ((1, x > 0), (2, x > 0.5), (2, x > 0.5)):
        (here / "mine.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(x, y.astype(int), strict=True)))
        assert cli(*args).exit_code == 0
        assert len(finished_runs(here / "runs")) == made


@pytest.mark.usefixtures("without_figures")
def test_missing_data_are_told_once_with_what_to_do(here, monkeypatch):
    for name in ("MINISIG_DATA", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(here / "empty"))
    result = cli("mnist-shallow", "--init", "lecun,ortho", "--seeds", 2, *QUICK)
    assert result.exit_code == 5
    assert re.fullmatch(r"Error: .*minisig data fetch mnist.*\n", result.stderr)
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("without_figures")
def test_a_damaged_result_is_named(here):
    assert cli(*XOR, "--out", "runs").exit_code == 0
    damaged = finished_runs(here / "runs")[0]
    (damaged / "summary.json").write_text("{")
    result = cli(*XOR, "--out", "runs")
    assert (result.exit_code, result.stdout) == (5, "")
    assert re.fullmatch(rf"Error: runs/{re.escape(damaged.name)}.*remove the folder\n", result.stderr)


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
    monkeypatch.setattr(module, "run", lambda *args, **kwargs: pytest.fail("training"))
    result = cli("xor", "--init", "lecun", "--seeds", 1, *QUICK, "--out", "file/runs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cannot write to file/runs" in result.stderr
