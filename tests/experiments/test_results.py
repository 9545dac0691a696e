"""The results of a comparison on disk: whole or not at all, and refused by name if they are damaged."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

from minisig.errors import DataError, MinisigError
from minisig.experiments.compare import compare, plan
from minisig.experiments.executors import Here
from tests.cli.command import tree

FILES = {"config.json", "metrics.jsonl", "summary.json"}


@pytest.fixture
def one(tmp_path):
    """One finished run that may be damaged: its job, the folder of the comparison, and its own."""
    (job,) = plan("xor", ["lecun"], 1, {"iterations": 5})
    compare([job], tmp_path, Here)
    return job, tmp_path, tmp_path / job.folder


def test_a_place_that_cannot_be_written_to_is_named(jobs, tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(MinisigError, match=rf"^cannot write to .*{folder.name}: "):
            compare(jobs, folder, Here)
    assert (tmp_path / "file").read_text() == "mine"


LITTLE_ROOM = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
from minisig.cli import main
main(prog_name="minisig")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files there")
@pytest.mark.parametrize("workers", [[], ["--workers", "1"]], ids=["here", "processes"])
def test_a_full_disk_is_told_in_one_line_and_leaves_no_half_run(tmp_path, workers):
    args = ("compare", "xor", "--init", "lecun", "--seeds", "2", "--iterations", "200", "--out", "runs", *workers)
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_ROOM, *args], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 1
    told = r"Error: 2 of 2 runs failed; the first: cannot write to runs/\.lecun-seed0-\w+: File too large\n"
    assert re.fullmatch(told, done.stderr)
    assert not (tmp_path / "runs").exists()


def test_a_run_appears_whole_or_not_at_all(tmp_path):
    (job,) = plan("xor", ["lecun"], 1, {"iterations": 5})
    (tmp_path / job.folder).write_text("mine")  # where it should go
    (failure,) = compare([job], tmp_path, Here).failures
    assert str(failure) == f"cannot write to {tmp_path / job.folder}: Not a directory"
    assert (tmp_path / job.folder).read_text() == "mine"
    (tmp_path / job.folder).unlink()
    assert compare([job], tmp_path, Here).rows[0].results
    assert [path.name for path in tmp_path.iterdir()] == [job.folder]


def edited(**fields):
    """The content of a JSON file with these fields changed, or left out if None."""

    def edit(content):
        known = json.loads(content) | fields
        return json.dumps({name: value for name, value in known.items() if value is not None}).encode()

    return edit


DAMAGE = {
    "no summary": ("summary.json", None),
    "no metrics": ("metrics.jsonl", None),
    "no configuration": ("config.json", None),
    "empty summary": ("summary.json", lambda content: b""),
    "half a summary": ("summary.json", lambda content: content[: len(content) // 2]),
    "summary of bytes": ("summary.json", lambda content: b"\xff\xfe\x00"),
    "summary a list": ("summary.json", lambda content: b"[1, 2]"),
    "summary not a number": ("summary.json", lambda content: b'{"test_error": NaN, "baselines": {}}'),
    "no test error": ("summary.json", edited(test_error=None)),
    "test error a word": ("summary.json", edited(test_error="good")),
    "test error a list": ("summary.json", edited(test_error=[1.0])),
    "no baselines": ("summary.json", edited(baselines=None)),
    "baselines a number": ("summary.json", edited(baselines=5)),
    "half a record": ("metrics.jsonl", lambda content: content[:-20]),
    "record a list": ("metrics.jsonl", lambda content: content + b"[]\n"),
    "records of bytes": ("metrics.jsonl", lambda content: content + b'{"iteration": "\xff"}\n'),
    "configuration of another run": ("config.json", edited(iterations=6)),
    "configuration of another seed": ("config.json", edited(seed=6)),
    "configuration with an unknown field": ("config.json", edited(colour="red")),
    "configuration a list": ("config.json", lambda content: b"[]"),
    "no seconds": ("summary.json", edited(seconds=None)),
    "seconds a word": ("summary.json", edited(seconds="long")),
    "baselines of words": ("summary.json", edited(baselines={"memoryless": "much"})),
    "test error infinite": ("summary.json", edited(test_error="inf")),
    "record without iteration": ("metrics.jsonl", lambda content: b'{"train_loss": 1.0}\n' + content),
    "iteration a word": ("metrics.jsonl", lambda content: b'{"iteration": "last", "train_loss": 1.0}\n' + content),
    "iteration beyond counting": ("metrics.jsonl", (b'{"iteration": 1%s, "train_loss": 1.0}\n' % (b"0" * 30)).__add__),
    "loss beyond all numbers": ("metrics.jsonl", (b'{"iteration": 7, "train_loss": 1%s}\n' % (b"0" * 400)).__add__),
}


@pytest.mark.parametrize(("name", "damage"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_result_is_refused_by_its_folder(one, name, damage, nowhere):
    job, folder, path = one
    file = path / name
    file.unlink() if damage is None else file.write_bytes(damage(file.read_bytes()))
    before = tree(folder)
    with pytest.raises(DataError, match=rf"^{path}[:/]") as raised:
        compare([job], folder, nowhere)
    assert "(" + str(path) not in str(raised.value)  # one complaint wrapped in another
    assert tree(folder) == before


@pytest.mark.skipif(os.name == "nt", reason="no sparse files there")
@pytest.mark.parametrize("name", sorted(FILES))
def test_a_result_of_absurd_size_is_refused_unread(one, name, nowhere):
    job, folder, path = one
    os.truncate(path / name, 2**40)
    with pytest.raises(DataError, match=rf"{name}.*larger than any such file"):
        compare([job], folder, nowhere)


def test_a_damaged_result_that_was_removed_is_made_again(one, as_made_here):
    job, folder, path = one
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    assert as_made_here(compare([job], folder, Here))


def test_a_run_that_somebody_else_has_finished_meanwhile_is_his(one, as_made_here):
    job, folder, path = one

    @contextmanager
    def late():
        path.with_name("away").rename(path)  # while we are at it, he is done
        yield Here()

    path.rename(path.with_name("away"))
    assert as_made_here(compare([job], folder, late))
    assert {file.name for file in folder.iterdir()} == {job.folder}
