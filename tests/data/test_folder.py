"""Which folder a public data set is read from, and what is said when something is missing in it."""

import gzip

import pytest

from minisig.data import load
from minisig.data.folder import complete_folder, find_folder, homes
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


def test_a_missing_treebank_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="MINISIG_DATA"):
        load("ptb")
    monkeypatch.delenv("MINISIG_DATA")
    with pytest.raises(DataError, match=r"cache/minisig/ptb"):
        load("ptb")


def test_whoever_has_no_home_may_still_say_where_the_data_are(tmp_path, monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path))
    assert homes()[0] == tmp_path


@pytest.mark.parametrize("unset", [None, ""], ids=["not there", "empty"])
def test_unless_told_otherwise_data_are_in_the_cache_below_the_home(tmp_path, monkeypatch, unset):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("MINISIG_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False) if unset is None else monkeypatch.setenv(name, unset)
    assert homes() == [tmp_path / ".cache" / "minisig"]
