"""The fault campaign in its short form, each part in a process of its own; benchmarks/faults.py has the long one."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minisig.errors import CannotWrite, DataError, MinisigError, UsageError
from minisig.experiments import configure
from minisig.training.run import resume, run
from tests.faults.disk import Disk
from tests.faults.runs import begun, difference, kind, outcome

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the campaign forks")
ROOT = Path(__file__).parents[2]


def campaign(part):
    """The figures of a part, which must have no misses."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", "--short", part],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = re.findall(r"([a-z][a-z ]*) ([\d,]+)", done.stdout.removeprefix(f"{part}: "))
    return {name: int(count.replace(",", "")) for name, count in figures}


def test_runs_killed_at_any_moment_end_with_the_bits_of_the_undisturbed_one():
    figures = campaign("kills")
    assert figures["identical"] == figures["runs killed"] == 10
    assert figures["kills at any moment"] > 0
    assert figures["kills at a write"] + figures["kills halfway through a checkpoint"] > 0


def test_a_disk_that_fails_or_tears_any_write_leaves_a_good_checkpoint_or_none_and_the_run_goes_on_to_the_same_bits():
    figures = campaign("failing-writes")
    assert figures["identical"] == figures["failed"] + figures["torn"]
    assert figures["failed"] > 50
    assert figures["torn"] > 10


def test_a_write_that_is_really_torn_leaves_a_good_checkpoint_or_none():
    figures = campaign("short-files")
    assert figures["identical"] == figures["torn"] > 5


def test_a_real_disk_that_is_full_leaves_a_good_checkpoint_or_none():
    figures = campaign("small-disks")
    if "failed" not in figures:
        pytest.skip("only root can make a small file system")
    assert figures["identical"] == figures["failed"] > 5


def test_damaged_files_of_a_run_are_read_to_something_valid_or_refused():
    figures = campaign("damaged-files")
    kinds = {name.rpartition(" ")[0] for name in figures if name.endswith("refused")}
    assert len(kinds) == 13
    assert sum(count for name, count in figures.items() if name.endswith(("read", "refused"))) == 13 * 40
    assert all(figures[f"{name} read"] > 0 for name in kinds)  # else the damage is too coarse to tell anything


@pytest.mark.parametrize(("part", "kinds", "each"), [("damaged-models", 10, 25), ("damaged-tables", 6, 25)])
def test_damaged_models_tables_and_texts_are_used_to_something_valid_or_refused(part, kinds, each):
    figures = campaign(part)
    found = {name.removesuffix(" refused") for name in figures if name.endswith(" refused")}
    assert len(found) >= kinds  # and one more where there is pyarrow
    read = sum(figures.get(f"{name} read", 0) for name in found)
    assert read + sum(figures[f"{name} refused"] for name in found) == each * len(found)
    assert read > len(found)  # else the damage is too coarse to tell anything


def test_a_comparison_whose_workers_are_killed_gives_the_same_table():
    figures = campaign("dying-workers")
    assert figures["runs"] == 20
    assert figures["workers killed"] >= 1  # the second may come when all is done


# Folders


@pytest.fixture
def config(tmp_path):
    return kind("digits", tmp_path)


def test_a_run_that_could_not_be_begun_can_be_begun_later(tmp_path, config):
    """In the same process, which must not keep the folder's lock."""
    for n in range(1, 8):
        disk, folder = Disk(tmp_path / str(n), n), tmp_path / str(n)
        with pytest.raises(MinisigError, match=os.strerror(errno.ENOSPC)) as caught:
            disk.under(lambda folder=folder: run(config, folder))
        assert str(folder) in str(caught.value)
        if (folder / "config.json").exists():
            break
        run(config, folder)
    assert n > 4


@pytest.mark.parametrize("begins", [True, False], ids=["run", "resume"])
def test_a_folder_that_vanishes_ends_the_run_in_one_line(tmp_path, config, begins):
    folder = tmp_path / "run"
    if not begins:
        begun(config, folder, 4)
    start = run if begins else lambda config, folder, observers: resume(folder, observers=observers)
    with pytest.raises(CannotWrite, match=r"cannot write to .*run: No such file or directory$"):
        start(config, folder, observers=[lambda record: shutil.rmtree(folder, ignore_errors=True)])
    assert not folder.exists()


def test_a_folder_that_vanishes_before_the_end_loses_the_run_and_no_other_file(tmp_path, config):
    (tmp_path / "mine").write_text("mine")

    def vanish(record):
        if record["iteration"] == config.iterations:
            shutil.move(tmp_path / "run", tmp_path / "elsewhere")

    with pytest.raises(MinisigError, match="cannot write to"):
        run(config, tmp_path / "run", observers=[vanish])
    run(config, tmp_path / "straight")
    reference = outcome(tmp_path / "straight")
    resume(tmp_path / "elsewhere")
    assert difference(tmp_path / "elsewhere", reference) == ""
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path, config):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(UsageError, match="is a file"):
        run(config, tmp_path / "run")
    with pytest.raises(DataError, match=r"a run\?"):
        resume(tmp_path / "run")
    with pytest.raises(MinisigError, match="cannot write to"):
        run(config, tmp_path / "run" / "inside")
    assert (tmp_path / "run").read_text() == "mine"


def test_a_file_that_takes_the_place_of_the_folder_ends_the_run_in_one_line(tmp_path, config):
    def usurp(record):
        shutil.rmtree(tmp_path / "run")
        (tmp_path / "run").write_text("mine")

    with pytest.raises(MinisigError, match=r"cannot write to .*run: Not a directory$"):
        run(config, tmp_path / "run", observers=[usurp])
    assert (tmp_path / "run").read_text() == "mine"


def test_a_folder_that_becomes_read_only_ends_the_run_and_keeps_its_checkpoint(tmp_path, config):
    folder = tmp_path / "run"

    def freeze(record):
        if record["iteration"] == 4:
            folder.chmod(0o500)
            for path in folder.iterdir():
                path.chmod(0o400)
            if os.access(folder, os.W_OK):
                pytest.skip("permissions do not bind this user")

    with pytest.raises(MinisigError, match=r"cannot write to .*: Permission denied"):
        run(config, folder, observers=[freeze])
    folder.chmod(0o700)
    for path in folder.iterdir():
        path.chmod(0o600)
    resume(folder)
    run(config, tmp_path / "straight")
    assert difference(folder, outcome(tmp_path / "straight")) == ""


def test_what_a_killed_process_was_writing_is_cleared_away_and_nothing_else(tmp_path):
    run(configure("xor", {"iterations": 5}), tmp_path)
    left_over = {".tmpAbc123", ".checkpoint.safetensors.4711.tmp", ".summary.json.7.tmp"}
    mine = {".notes.tmp", ".tmp", ".summary.json.tmp.orig"}
    for name in left_over | mine:
        (tmp_path / name).write_bytes(b"half")
    resume(tmp_path, 6)
    assert {path.name for path in tmp_path.iterdir() if "tmp" in path.name} == mine


def test_what_was_left_where_no_run_came_to_be_is_cleared_away_too(tmp_path):
    (tmp_path / ".config.json.4711.tmp").write_bytes(b"half")
    run(configure("xor", {"iterations": 5}), tmp_path)
    assert not [path.name for path in tmp_path.iterdir() if "tmp" in path.name]
