"""What is fetched or brought and what is left alone, the archives as a last resort, and folders of every kind."""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

from minisig.data.fetch import bring, fetch
from minisig.errors import DataError, MinisigError
from tests.data.mirrors import CONTENTS, DOWNLOADS, LETTERS, NUMBERS, SET, only, put, tree, within

# What is there already


def packed_otherwise():
    return gzip.compress(CONTENTS["numbers"], compresslevel=1, mtime=1)


@pytest.mark.parametrize(
    "there",
    [DOWNLOADS, CONTENTS, {"letters.txt": CONTENTS["letters.txt"], "numbers.gz": packed_otherwise()}],
    ids=["as downloaded", "unpacked", "packed otherwise"],
)
def test_what_is_there_and_right_is_not_downloaded_again(server, folder, there):
    folder.mkdir(parents=True)
    for name, content in there.items():
        (folder / name).write_bytes(content)
    fetch(SET, folder, [server.mirror("good")])
    assert server.asked == {}
    assert tree(folder) == there


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"", lambda b: b + b"x", lambda b: b[:9] + b"?" + b[10:]]
)
def test_a_damaged_download_is_replaced_and_the_rest_left_alone(server, folder, damage):
    folder.mkdir(parents=True)
    (folder / "letters.txt").write_bytes(damage(CONTENTS["letters.txt"]))
    (folder / "numbers").write_bytes(CONTENTS["numbers"])
    fetch(SET, folder, [server.mirror("good")])
    assert tree(folder) == CONTENTS
    assert server.asked == {"good": 1}


def test_a_link_under_the_name_is_replaced_and_not_followed(server, folder, tmp_path):
    folder.mkdir(parents=True)
    (tmp_path / "mine").write_bytes(b"precious")
    (folder / "letters.txt").symlink_to(tmp_path / "mine")
    fetch(SET, folder, [server.mirror("good")])
    assert (tmp_path / "mine").read_bytes() == b"precious"
    assert tree(folder) == DOWNLOADS


@pytest.mark.parametrize("get", ["fetch", "bring"])
def test_a_damaged_file_that_would_hide_the_download_is_refused_and_not_touched(server, folder, tmp_path, get):
    folder.mkdir(parents=True)
    (folder / "numbers").write_bytes(b"mine")
    source = put(tmp_path / "source", DOWNLOADS)
    with pytest.raises(DataError, match=r"numbers is not the published file.*move it away"):
        fetch(SET, folder, [server.mirror("good")]) if get == "fetch" else bring(SET, source, folder)
    assert tree(folder) == {"numbers": b"mine"}
    assert server.asked == {}


# Archives as the last resort of downloads


def test_when_no_mirror_has_a_file_all_come_from_the_first_good_archive(server, folder, archives):
    fetch(archives(noise=b"noise", wrong={"letters.txt": b"wrong"}, right=CONTENTS, unasked=CONTENTS), folder)
    assert tree(folder) == CONTENTS
    assert server.asked == {"404": 1, "good": 3}


def test_archives_are_not_asked_when_a_mirror_has_the_files(server, folder, archives):
    fetch(replace(archives(right=CONTENTS), mirrors=(server.mirror("good"),)), folder)
    assert tree(folder) == DOWNLOADS
    assert server.asked == {"good": 2}


def test_archives_are_not_asked_when_mirrors_are_given(server, folder, archives):
    with pytest.raises(DataError):
        fetch(archives(right=CONTENTS), folder, [server.mirror("404")])
    assert server.asked == {"404": 1}


def test_bad_archives_are_named_with_their_reasons(server, folder, archives):
    public = archives(noise=b"noise", wrong={"letters.txt": b"wrong"}, less={"numbers": b"wrong"})
    public = replace(public, archives=(*public.archives, f"{server.mirror('500')}a.tgz"))
    with pytest.raises(DataError) as error:
        fetch(public, folder)
    text = str(error.value)
    assert all(url in text for url in (server.mirror("404"), *public.archives))
    assert all(words in text for words in ("nor a readable", "letters.txt there is not", "answered 500"))
    assert tree(folder) == {}


# Folders


@pytest.mark.parametrize("inside", ["", "small"], ids=["itself", "subfolder"])
@pytest.mark.parametrize("there", [DOWNLOADS, CONTENTS], ids=["gz", "plain"])
def test_files_come_from_a_folder_or_from_the_one_in_it_with_the_name_of_the_set(tmp_path, folder, inside, there):
    put(tmp_path / "source" / inside, there)
    before = tree(tmp_path / "source")
    bring(SET, tmp_path / "source", folder)
    assert tree(folder) == there
    assert tree(tmp_path / "source") == before


def test_a_missing_file_is_named(tmp_path, folder):
    source = put(tmp_path / "source", {"letters.txt": CONTENTS["letters.txt"]})
    with pytest.raises(DataError, match=r"source: holds no numbers, gzipped or not"):
        bring(SET, source, folder)


@pytest.mark.parametrize("name", ["letters.txt", "letters.txt.gz", "numbers", "numbers.gz"])
@pytest.mark.parametrize("before", [None, b"damaged"], ids=["nothing before", "damaged before"])
def test_a_wrong_file_is_named_and_does_not_come(tmp_path, folder, name, before):
    file = LETTERS if "letters" in name else NUMBERS
    there = {file.download: before} if before else {}
    put(folder, there)
    source = put(tmp_path / "source", {name: gzip.compress(b"wrong") if name.endswith(".gz") else b"wrong"})
    with pytest.raises(DataError, match=rf"source: {name} there is not the published file: expected .* bytes"):
        bring(only(file), source, folder)
    assert tree(folder) == there


def test_what_is_right_is_not_replaced_and_folders_and_pipes_are_not_read(tmp_path, folder):
    put(folder, {"letters.txt": CONTENTS["letters.txt"]})
    source = put(tmp_path / "source", {"letters.txt": b"wrong", "numbers.gz": DOWNLOADS["numbers.gz"]})
    (source / "small" / "numbers").mkdir(parents=True)
    (source / "loop").symlink_to("loop")
    if hasattr(os, "mkfifo"):
        os.mkfifo(source / "numbers")
    with within():
        bring(SET, source, folder)
    assert tree(folder) == DOWNLOADS


def test_what_was_brought_is_what_is_read_afterwards(tmp_path, folder):
    put(folder, {"letters.txt": b"damaged"})
    bring(only(LETTERS), put(tmp_path / "source", {"letters.txt.gz": gzip.compress(CONTENTS["letters.txt"])}), folder)
    assert LETTERS.fault(LETTERS.find(folder)) is None


def test_the_missing_file_is_named_and_not_a_wrong_one_that_was_found_elsewhere(tmp_path, folder):
    source = put(tmp_path / "source", {"letters.txt": b"wrong"})
    put(source / "small", {"letters.txt": CONTENTS["letters.txt"]})
    with pytest.raises(DataError, match="holds no numbers"):
        bring(SET, source, folder)


# What is left of a folder to which nothing came


@pytest.mark.parametrize("get", ["fetch", "bring"])
def test_only_folders_that_were_made_for_nothing_are_taken_away(server, tmp_path, get):
    before = {*put(tmp_path / "source", {"letters.txt": b"wrong"}).parent.rglob("*")}
    for folder in (tmp_path / "new" / "small", tmp_path / "source" / "new", put(tmp_path / "mine", {})):
        with pytest.raises(DataError):
            fetch(SET, folder, [server.mirror("404")]) if get == "fetch" else bring(SET, tmp_path / "source", folder)
    assert {*tmp_path.rglob("*")} - before == {tmp_path / "mine"}


def test_a_folder_to_which_some_files_came_stays_with_them(tmp_path, folder):
    with pytest.raises(DataError):
        bring(SET, put(tmp_path / "source", {"letters.txt": CONTENTS["letters.txt"]}), folder)
    assert tree(folder) == {"letters.txt": CONTENTS["letters.txt"]}


# Folders that cannot be written to


@pytest.fixture
def fixed(folder):
    """A folder in which nothing can be made."""
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    if not os.access(folder, os.W_OK):
        yield folder
    elif Path("/proc/self").is_dir():  # binds the superuser too
        yield Path("/proc/self")
    else:
        pytest.skip("permissions do not bind this user")
    folder.chmod(0o700)


@pytest.mark.parametrize("get", ["fetch", "bring"])
def test_a_folder_that_cannot_be_written_to_is_no_fault_of_the_data(server, fixed, tmp_path, get):
    source = put(tmp_path / "source", DOWNLOADS)
    with pytest.raises(MinisigError, match=f"cannot write to {fixed}") as error:
        fetch(SET, fixed, [server.mirror("good")]) if get == "fetch" else bring(SET, source, fixed)
    assert error.value.exit_code == 1


@pytest.mark.parametrize("get", ["fetch", "bring"])
def test_a_folder_that_cannot_be_made_is_no_fault_of_the_data(server, tmp_path, get):
    source = put(tmp_path / "source", DOWNLOADS)
    folder = tmp_path / "source" / "letters.txt" / "small"
    with pytest.raises(MinisigError, match="cannot write to") as error:
        fetch(SET, folder, [server.mirror("good")]) if get == "fetch" else bring(SET, source, folder)
    assert error.value.exit_code == 1
