"""Which folder a public data set is read from, and what is said when something is missing in it."""

import gzip

import pytest

from minisig.data import load
from minisig.data.folder import complete_folder, find_folder
from minisig.data.public import PTB
from minisig.errors import DataError
from tests.data.mirrors import put

PUBLISHED = {file.name: b"the cat sat on the mat\n" * 9 for file in PTB.files}
OWN = {name.removeprefix("ptb."): content for name, content in PUBLISHED.items()}
PACKED = {f"{name}.gz": gzip.compress(content) for name, content in PUBLISHED.items()}


@pytest.fixture
def first(tmp_path, monkeypatch):
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "data" / "ptb"


@pytest.fixture
def second(first, tmp_path):
    return tmp_path / "minisig" / "ptb"


@pytest.mark.parametrize("there", [{}, {"tmp1234": b"of a download that was killed"}], ids=["empty", "remains"])
def test_a_folder_without_files_of_the_set_hides_no_other(first, second, there):
    put(first, there)
    put(second, PUBLISHED)
    assert find_folder(PTB) == complete_folder(PTB) == second
    assert load("ptb").classes == 7


@pytest.mark.parametrize("there", [PUBLISHED, OWN, PACKED], ids=["published", "own", "packed"])
def test_the_first_folder_with_files_is_taken_whatever_loaders_call_them(first, second, there):
    put(first, there)
    put(second, PUBLISHED)
    assert find_folder(PTB) == complete_folder(PTB) == first
    assert load("ptb").classes == 7


def test_without_a_file_anywhere_all_places_and_the_remedy_are_named(first, second):
    put(first, {})
    with pytest.raises(DataError) as error:
        load("ptb")
    assert all(words in str(error.value) for words in (str(first), str(second), "run 'minisig data fetch ptb'"))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_missing_file_of_a_public_set_names_the_remedy(first, name):
    put(first, PUBLISHED)
    (first / name).unlink()
    assert (find_folder(PTB), complete_folder(PTB)) == (first, None)
    with pytest.raises(DataError, match=rf"ptb: holds no {name}, gzipped or not: run 'minisig data fetch ptb'"):
        load("ptb")
