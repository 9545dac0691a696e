"""The hash of the user's data tells whether they are still the same."""

import os

import pytest

from minisig.data.hashes import content_hash


def test_the_same_content_has_the_same_hash_wherever_it_is(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    assert content_hash(str(tmp_path / "a.csv")) == content_hash(str(tmp_path / "b.csv"))
    assert len(content_hash(str(tmp_path / "a.csv"))) == 64


@pytest.mark.parametrize("edited", ["a,b\n1,3\n", "a,b\n1,2", "a,b\r\n1,2\r\n", ""])
def test_any_edit_changes_it(tmp_path, edited):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    before = content_hash(str(path))
    path.write_bytes(edited.encode())
    assert content_hash(str(path)) not in (before, "")


@pytest.mark.parametrize(
    "names", [("train.txt", "valid.txt"), ("train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte")]
)
def test_a_folder_is_known_by_its_files_of_data_alone(tmp_path, names):
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    before = content_hash(str(tmp_path))
    (tmp_path / "notes.md").write_text("by me")
    assert content_hash(str(tmp_path)) == before != ""
    (tmp_path / names[1]).write_bytes(b"other")
    assert content_hash(str(tmp_path)) not in (before, "")


def test_where_one_file_ends_and_the_next_begins_matters(tmp_path):
    hashes = set()
    for a, b in (("xy", "z"), ("x", "yz")):
        (tmp_path / "a.txt").write_text(a)
        (tmp_path / "b.txt").write_text(b)
        hashes.add(content_hash(str(tmp_path)))
    assert len(hashes) == 2


def test_what_cannot_be_read_has_none(tmp_path):
    assert content_hash(None) == ""
    assert content_hash(str(tmp_path)) == content_hash(str(tmp_path / "none")) == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    assert len(content_hash(str(tmp_path))) == 64
    assert content_hash(str(tmp_path / "a.txt")) == ""
