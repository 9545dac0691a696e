"""A run of a comparison whose writes fail goes on to the same when they succeed."""

import shutil
import sys

import pytest

from minisig.errors import CannotWrite
from minisig.experiments.compare import compare
from minisig.experiments.executors import Here
from minisig.experiments.results import unfinished
from tests.experiments.interrupted import LAST, outcome
from tests.faults.disk import Disk, little_room


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files there")
@pytest.mark.parametrize("most", [0, 1000, 5000])
def test_without_room_for_it_a_run_fails_and_goes_on_when_there_is_some(job, tmp_path, most):
    whole = outcome(job, tmp_path / "straight")
    with little_room(most), pytest.raises(CannotWrite, match=rf"cannot write to .*\.{job.row[:6]}"):
        outcome(job, tmp_path)
    assert outcome(job, tmp_path) == whole


@pytest.mark.parametrize("torn", [False, True])
def test_whichever_write_fails_the_run_goes_on_to_the_same(job, steps, tmp_path, torn):
    whole, disk = outcome(job, tmp_path / "straight"), Disk(tmp_path / "counted")
    with disk.patched():
        assert outcome(job, tmp_path / "counted") == whole
    assert disk.calls.count("save") == 4  # of three checkpoints, and of the best parameters
    for n in range(1, len(disk.calls) + 1):
        folder = tmp_path / str(n)
        with Disk(folder, n, torn=torn).patched(), pytest.raises(CannotWrite):
            outcome(job, folder)
        assert outcome(job, folder) == whole


@pytest.mark.parametrize("torn", [False, True])
def test_whichever_write_fails_when_it_goes_on_the_run_comes_to_the_same(job, steps, under_way, tmp_path, torn):
    whole, disk = outcome(job, tmp_path / "straight"), Disk(tmp_path / "counted")
    shutil.copytree(under_way, unfinished(tmp_path / "counted" / job.folder))
    with disk.patched():
        assert outcome(job, tmp_path / "counted") == whole
    for n in range(1, len(disk.calls) + 1):
        folder = tmp_path / str(n)
        shutil.copytree(under_way, unfinished(folder / job.folder))
        with Disk(folder, n, torn=torn).patched(), pytest.raises(CannotWrite):
            outcome(job, folder)
        steps.clear()
        assert outcome(job, folder) == whole
        assert not steps or steps[0] > LAST  # what was made before the interruption is not made again


def test_a_file_where_it_should_be_made_is_left_alone(job, steps, under_way, tmp_path):
    shutil.rmtree(under_way)
    under_way.write_text("mine")
    (failure,) = compare([job], tmp_path, Here).failures
    assert str(failure) == f"cannot write to {under_way}: File exists"
    assert under_way.read_text() == "mine"
