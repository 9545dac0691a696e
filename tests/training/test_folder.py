"""A run's folder: one run, one process at a time, and free again however the run ends."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from minisig.data import load
from minisig.errors import DataError, Diverged, Interrupted, UsageError
from minisig.experiments import configure
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.files import read_config
from minisig.training.folder import FILES, RunFolder
from minisig.training.model_file import model_info
from minisig.training.run import resume, run
from tests.cli.command import tree
from tests.faults.runs import begun, contents, stop_at


def assert_free(path):
    """Nobody holds its lock, not even an object that is still there."""
    with RunFolder(path).reopen():
        pass


def test_a_folder_in_use_is_in_use(tmp_path, xor):
    seen = []

    def intrude(record):
        before = tree(tmp_path)
        with pytest.raises(UsageError, match="in use by another process"):
            resume(tmp_path)
        with pytest.raises(UsageError, match="already holds a run"):
            run(xor, tmp_path)
        seen.append(tree(tmp_path) == before)

    folder = RunFolder(tmp_path)
    run(xor, folder, observers=[intrude])
    assert seen
    assert all(seen)
    assert_free(tmp_path)


def test_a_folder_in_use_cannot_be_claimed_before_it_holds_a_run(tmp_path, xor):
    first = RunFolder(tmp_path)
    with first.lock():
        with pytest.raises(UsageError, match="in use by another process"), RunFolder(tmp_path).claim(xor):
            pass
        assert contents(tmp_path) == {}
        with first.lock(), first.claim(xor):  # but for whoever has it
            assert read_config(tmp_path) == xor
        with pytest.raises(UsageError, match="in use by another process"), RunFolder(tmp_path).reopen():
            pass
    assert_free(tmp_path)


@pytest.mark.parametrize("ends", ["stopped", "refused", "diverged"])
def test_however_a_run_ends_its_folder_is_free(tmp_path, xor, ends, poison):
    begun(xor, tmp_path, 7)
    if ends == "refused":
        (tmp_path / CHECKPOINT).write_bytes(b"")
    if ends == "diverged":
        poison(12, lambda training: training.net.params["dense0.W"].fill(np.nan))
    folder = RunFolder(tmp_path)
    with pytest.raises((Interrupted, DataError, Diverged)) as caught:
        resume(folder, stop=stop_at(8))
    assert caught.value.exit_code == {"stopped": 130, "refused": 5, "diverged": 4}[ends]
    assert_free(tmp_path)


def test_a_folder_with_a_run_is_left_alone(tmp_path):
    first, second = configure("digits"), configure("xor")
    with RunFolder(tmp_path).claim(first):
        pass
    with pytest.raises(UsageError, match="already holds a run"), RunFolder(tmp_path).claim(second):
        pass
    assert read_config(tmp_path) == first


def test_a_run_that_begins_anew_takes_the_place_of_another(tmp_path, xor):
    begun(xor, tmp_path, 7)
    with RunFolder(tmp_path, anew=True).claim(configure("digits")):
        assert read_config(tmp_path) == configure("digits")
        assert contents(tmp_path).keys() == {"config.json"}


def test_numbered_folders_are_new_ones(tmp_path):
    folders = [RunFolder(tmp_path / "runs" / "a", numbered=True) for _ in range(3)]
    for folder in folders:
        with folder.claim(configure("xor")):
            pass
    assert [folder.path.name for folder in folders] == ["a", "a-2", "a-3"]


@pytest.mark.parametrize("name", FILES)
def test_a_folder_with_anything_of_a_run_in_it_is_not_taken_for_another(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(UsageError, match="already holds a run"), RunFolder(tmp_path).claim(configure("xor")):
        pass


def test_strided_parameters_are_saved_as_they_read(tmp_path):
    w = np.arange(12.0).reshape(3, 4).T[::2]
    config = configure("xor")
    RunFolder(tmp_path).finish({"w": w}, model_info(config, load(config.data), {}), {})
    np.testing.assert_array_equal(load_file(tmp_path / "best.safetensors")["w"], w)
