"""Which runs a report is about, and under which names."""

import json
import os
import shutil

import pytest

from minisig.errors import DataError
from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here
from minisig.report.runs import kinds, once, read_paths
from tests.report.conftest import SMALL


def test_a_run_is_read_whole(one):
    ((run,), failures) = read_paths([one])
    assert (run.row, run.config.seed, run.path, failures) == ("random+ep", 0, one, [])
    assert run.summary == json.loads((one / "summary.json").read_text())


def test_a_comparison_is_its_runs_in_the_order_of_the_paper(several):
    runs, _ = read_paths([several])
    assert [(run.row, run.config.seed) for run in runs] == [
        *(("random+ep", 0), ("random+ep", 1)),
        *(("lecun", 0), ("lecun", 1)),
    ]


def test_a_run_that_is_named_twice_is_read_once(one, several):
    runs, _ = read_paths([one, several, one, several / ".." / several.name])
    assert len(runs) == 5


def test_runs_that_differ_in_the_seed_alone_are_of_one_kind(several):
    runs, _ = read_paths([several])
    assert {name: len(members) for name, members in kinds(runs).items()} == {"random+ep": 2, "lecun": 2}


def test_runs_of_one_initialization_are_told_apart_by_what_differs(one, written, records):
    longer = written(records, {"iterations": 90, "optimizer.clip": None})
    runs, _ = read_paths([one, longer])
    assert list(kinds(runs)) == [
        "random+ep, optimizer.clip 2.0, iterations 60",
        "random+ep, optimizer.clip –, iterations 90",
    ]


def test_what_tells_kinds_apart_is_short_enough_to_be_seen(written, records):
    differing = ({"iterations": 3000}, {"iterations": 200}, {"network.hidden": [20] * 3})
    for i, settings in enumerate(differing):
        written(records, {"network.hidden": [100] * 8, "iterations": 200, **settings}, name=str(i))
    runs, _ = read_paths([written(records).parent])
    assert list(kinds(runs)) == [
        "random+ep, network.hidden 8 × 100, iterations 3000",
        "random+ep, network.hidden 8 × 100, iterations 200",
        "random+ep, network.hidden 3 × 20, iterations 200",
        "random+ep, network.hidden 12, 8, 8, iterations 60",
    ]


def test_a_long_setting_does_not_hide_the_next(written, records):
    hidden = list(range(100, 200))
    folders = [written(records, {"network.hidden": hidden, "iterations": n}, name=str(n)) for n in (60, 90)]
    runs, _ = read_paths([*folders, written(records)])
    assert [name[-13:] for name in kinds(runs)] == ["iterations 60", "iterations 90", "iterations 60"]


def test_what_one_initialization_is_told_apart_by_is_said_of_the_others_too(written, records):
    inits = {"a": ("lecun", 60), "b": ("random+ep", 60), "c": ("random+ep", 90)}
    runs, _ = read_paths(
        [written(records, {"network.init": init, "iterations": n}, name=name) for name, (init, n) in inits.items()]
    )
    assert list(kinds(runs)) == ["random+ep, iterations 60", "random+ep, iterations 90", "lecun, iterations 60"]


def finished(folder, when):
    os.utime(folder / "summary.json", (when, when))
    return folder


@pytest.mark.parametrize("last", ["a", "b"])
def test_of_the_same_seed_the_run_that_finished_last_is_taken(one, several, tmp_path, last):
    for name in "ab":
        finished(shutil.copytree(one, tmp_path / name), 2e9 if name == last else 1e9)
    runs, _ = read_paths([tmp_path / "a", several, tmp_path / "b"])
    taken = once(runs)
    assert [(run.row, run.config.seed) for run in taken] == [
        *(("random+ep", 0), ("random+ep", 1)),
        *(("lecun", 0), ("lecun", 1)),
    ]
    assert taken[0].path == tmp_path / last


def test_a_finished_run_is_taken_before_one_of_the_same_seed_that_is_not(one, written, records, tmp_path):
    finished(shutil.copytree(one, tmp_path / "done"), 1e9)
    runs, _ = read_paths([tmp_path / "done", written(records)])
    assert [run.path.name for run in once(runs)] == ["done"]


def test_kinds_whose_long_names_are_alike_are_kept_apart(written, records):
    sizes = [[5] * 100 + [last] for last in (6, 7)]
    folders = [written(records, {"network.hidden": size}, name=str(size[-1])) for size in sizes]
    runs, _ = read_paths(folders)
    assert [len(members) for members in kinds(runs).values()] == [1, 1]
    assert max(map(len, kinds(runs))) < 100


def test_an_experiments_own_row_is_known_by_its_settings(written, records):
    folder = written(
        records, {"experiment": "mnist-deep", "network.activation": "scaled-tanh", "network.init": "lecun"}
    )
    ((run,), _) = read_paths([folder])
    assert run.row == "scaled-tanh"


def test_a_run_that_has_not_finished_has_no_summary(written, records):
    ((run,), _) = read_paths([written(records)])
    assert run.summary is None


def test_failures_of_a_comparison_are_told(several, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(several, folder)
    rows = [{"init": "lsuv", "failed": {"1": "diverged"}}, {"init": "lecun", "failed": {}}]
    (folder / "comparison.json").write_text(json.dumps({"experiment": "digits", "rows": rows}))
    _, (failure,) = read_paths([folder])
    assert (failure.row, failure.seed, failure.message) == ("lsuv", "1", "diverged")


def test_failures_are_told_by_every_table_of_a_folder_each_of_its_own_runs(tmp_path):
    table, folder = tmp_path / "mine.csv", tmp_path / "compared"
    runs = {}
    for shift in (1, 2):
        table.write_text("".join(f"{i},{-i},{(i // shift) % 2}\n" for i in range(40)))
        jobs = plan("digits", ["lecun"], 1, SMALL | {"data.path": str(table)})
        ((result,),) = (row.results for row in compare(jobs, folder, Here).rows)
        rows = [
            {"init": "lsuv", "runs": [], "failed": {"1": f"diverged {shift}"}},
            {"init": "lecun", "runs": [result.job.folder]},
        ]
        suffix = "" if shift == 1 else f"-{shift}"
        (folder / f"comparison{suffix}.json").write_text(json.dumps({"experiment": "digits", "rows": rows}))
        runs[f"diverged {shift}"] = result.job.folder
    (folder / "comparison-old.json").write_text("notes")
    found, failures = read_paths([folder])
    tasks = {run.path.name: run.task for run in found}
    assert {failure.message: failure.task for failure in failures} == {
        message: tasks[name] for message, name in runs.items()
    }


@pytest.mark.parametrize("changed", ["name", "seed"])
def test_a_folder_that_is_not_named_after_its_configuration_is_refused(several, tmp_path, changed):
    folder = tmp_path / "copy"
    shutil.copytree(several, folder)
    first = next(path for path in folder.iterdir() if path.name.startswith("lecun-seed1"))
    if changed == "name":
        first.rename(folder / first.name.replace("lecun", "lsuv"))
    else:
        config = json.loads((first / "config.json").read_text())
        (first / "config.json").write_text(json.dumps(config | {"seed": 5}))
    with pytest.raises(DataError, match="not that of the run it is named after"):
        read_paths([folder])


def test_a_folder_of_runs_is_read_whatever_they_are_called(one, several, tmp_path):
    shutil.copytree(one, tmp_path / "runs" / "digits-random+ep-seed0")
    shutil.copytree(one, tmp_path / "runs" / "the good one")
    older = next(path for path in several.iterdir() if path.name.startswith("lecun-seed1"))
    shutil.copytree(older, tmp_path / "runs" / f"lecun-seed1-{'0' * 16}")  # made when there were fewer settings
    runs, _ = read_paths([tmp_path / "runs"])
    assert [(run.row, run.config.seed) for run in runs] == [("random+ep", 0), ("random+ep", 0), ("lecun", 1)]


@pytest.mark.parametrize("beside", [True, False], ids=["beside a run", "alone"])
def test_comparisons_in_a_folder_are_read_with_its_runs(one, several, tmp_path, beside):
    folder = tmp_path / "runs"
    shutil.copytree(several, folder / "compare-digits")
    rows = [{"init": "lsuv", "failed": {"1": "diverged"}}]
    (folder / "compare-digits" / "comparison.json").write_text(json.dumps({"experiment": "digits", "rows": rows}))
    (folder / "notes").mkdir()
    if beside:
        shutil.copytree(one, folder / "digits-random+ep-seed0")
    runs, failures = read_paths([folder, folder / "compare-digits"])
    assert [run.path.parent.name for run in runs].count("compare-digits") == 4
    assert len(runs) == 4 + beside
    assert [(failure.row, failure.task) for failure in failures] == [("lsuv", runs[0].task)]


def test_failures_are_those_of_the_data_that_were_compared_last(one, written, records, tmp_path):
    summary = json.loads((one / "summary.json").read_text())
    for name, path, when in (("a", "/b.npz", 2e9), ("b", "/a.npz", 1e9)):
        finished(written(records, {"data.path": path}, summary, name=name), when)
    rows = [{"init": "lsuv", "failed": {"1": "diverged"}}]
    (tmp_path / "comparison.json").write_text(json.dumps({"experiment": "digits", "rows": rows}))
    runs, (failure,) = read_paths([tmp_path])
    assert [run.task == failure.task for run in runs] == [False, True]


@pytest.mark.parametrize("content", [None, b"", b'{"iteration": 1, "train_lo'], ids=["none", "empty", "cut off"])
def test_a_run_that_has_not_logged_anything_yet_is_left_out_of_a_folder_and_told(one, written, content):
    begun = written([], name="begun")
    (begun / "metrics.jsonl").unlink()
    if content is not None:
        (begun / "metrics.jsonl").write_bytes(content)
    for path in (begun, begun.parent):
        with pytest.raises(DataError, match=r"begun has not logged anything yet: .*metrics\.jsonl"):
            read_paths([path])
    shutil.copytree(one, begun.parent / "one")
    told = []
    ((run,), _) = read_paths([begun.parent], told.append)
    assert run.path.name == "one"
    assert len(told) == 1
    assert told[0].startswith(f"left out: {begun} has not logged anything yet: ")


@pytest.mark.parametrize("content", [None, b""], ids=["none", "empty"])
def test_a_finished_run_whose_log_is_lost_is_refused_in_a_folder_too(one, tmp_path, content):
    for name in ("one", "lost"):
        shutil.copytree(one, tmp_path / name)
    (tmp_path / "lost" / "metrics.jsonl").unlink()
    if content is not None:
        (tmp_path / "lost" / "metrics.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=r"metrics\.jsonl"):
        read_paths([tmp_path])


SUMMARY = {
    "layers": [],
    "test_error": "low",
    "test_loss": None,
    "valid_r2": [0.5],
    "seconds": 10**400,
    "experiment": 5,
    "baselines": {"a": None},
}


@pytest.mark.parametrize("field", SUMMARY)
def test_a_summary_that_no_run_writes_is_refused(one, tmp_path, field):
    folder = tmp_path / "copy"
    shutil.copytree(one, folder)
    summary = json.loads((one / "summary.json").read_text()) | {field: SUMMARY[field]}
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(DataError, match=r"summary\.json"):
        read_paths([folder])


@pytest.mark.parametrize("name", ["config.json", "summary.json", "metrics.jsonl", "comparison.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"null", b"[" * 100_000], ids=lambda content: ascii(content[:4])
)
def test_damaged_files_are_refused(one, several, tmp_path, name, content):
    folder = tmp_path / "copy"
    shutil.copytree(several if name == "comparison.json" else one, folder)
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=name.replace(".", r"\.")):
        read_paths([folder])


@pytest.mark.parametrize("name", ["nosuch", "empty"])
def test_a_folder_that_is_not_there_or_empty_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=name):
        read_paths([tmp_path / name])


def test_runs_of_a_comparison_on_data_that_have_changed_meanwhile_are_another_task(tmp_path):
    table, folder = tmp_path / "mine.csv", tmp_path / "compared"
    for shift, seeds in ((0, 2), (1, 1)):
        table.write_text("".join(f"{i},{-i},{(i + shift) % 2}\n" for i in range(40)))
        compare(plan("digits", ["lecun"], seeds, SMALL | {"data.path": str(table)}), folder, Here)
    runs, _ = read_paths([folder])
    assert sorted(sum(run.task == task for run in runs) for task in {run.task for run in runs}) == [1, 2]
