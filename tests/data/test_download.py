"""Downloads from servers that fail in every way."""

import os
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from minisig.data import download
from minisig.data.fetch import bring, fetch
from minisig.errors import DataError
from tests.data.mirrors import CONTENTS, DOWNLOADS, FAULTS, LETTERS, ODD, SET, SLOW, drip, endless, memory, only, tree

RETRIES = download.RETRIES
CASES = [
    pytest.param(fault, file, id=f"{fault}-{file.name}")
    for fault in FAULTS
    for file in SET.files
    if file is LETTERS or fault not in SLOW
]


@pytest.mark.parametrize("behaviour", ["good", *ODD])
def test_a_good_mirror_gives_the_right_files_and_leaves_nothing_else(server, folder, behaviour):
    fetch(replace(SET, mirrors=(server.mirror(behaviour),)), folder)
    assert tree(folder) == DOWNLOADS
    assert server.asked[behaviour] == 2
    assert server.encodings == {"identity"}


def test_a_mirror_may_be_written_without_its_last_slash_and_replaces_those_of_the_set(server, folder):
    fetch(replace(SET, mirrors=(server.mirror("404"),)), folder, [server.mirror("good").rstrip("/")])
    assert tree(folder) == DOWNLOADS
    assert server.asked == {"good": 2}


@pytest.mark.parametrize(("fault", "file"), CASES)
def test_after_a_bad_first_mirror_the_second_gives_the_right_file(server, folder, impatient, fault, file):
    fetch(only(file), folder, impatient(fault, "good"))
    assert tree(folder) == {file.download: DOWNLOADS[file.download]}
    assert server.asked["good"] == 1
    assert server.asked[fault] >= 1 or fault == "refused"


def check_refusal(server, folder, mirrors, fault, file, before=None):
    folder.mkdir(parents=True)
    if before:
        (folder / file.download).write_bytes(before)
    with pytest.raises(DataError) as error:
        fetch(only(file), folder, mirrors)
    assert error.value.exit_code == 5
    assert tree(folder) == ({file.download: before} if before else {})
    first, *mirrors = str(error.value).splitlines()
    assert first.startswith(f"{file.download} could not be fetched")
    assert "minisig data fetch small --from" in first
    assert [line.strip().split(": ")[0] for line in mirrors] == [server.mirror("404"), server.mirror(fault)]
    assert "answered 404" in mirrors[0]
    assert re.search(FAULTS[fault][1], mirrors[1])


@pytest.mark.parametrize("before", [None, b"damaged"], ids=["nothing before", "damaged before"])
@pytest.mark.parametrize(("fault", "file"), [case for case in CASES if case.values[0] not in SLOW])
def test_what_bad_mirrors_send_never_gets_the_right_name(server, folder, fault, file, before):
    check_refusal(server, folder, [server.mirror("404"), server.mirror(fault)], fault, file, before)


@pytest.mark.parametrize("fault", SLOW)
def test_what_slow_mirrors_send_never_gets_the_right_name(server, folder, impatient, fault):
    check_refusal(server, folder, impatient("404", fault), fault, LETTERS, b"damaged")


def test_an_endless_body_is_given_up_when_it_is_too_long(server, folder):
    with pytest.raises(DataError, match="more than the expected 200,000 bytes came"):
        fetch(SET, folder, [server.mirror("endless")])
    assert server.sent < 32 * 2**20  # of 64, and most of this lies in the buffers of the connection


def test_what_comes_with_a_redirect_is_not_read(server, folder):
    server.behaviours["left"] = lambda to, body: endless(to, body, 302, Location=to.path.replace("/left/", "/good/"))
    fetch(only(LETTERS), folder, [server.mirror("left")])
    assert tree(folder) == {"letters.txt": CONTENTS["letters.txt"]}
    assert server.sent < 32 * 2**20


def test_a_packed_answer_is_not_unpacked_in_memory(server, folder):
    with memory(50 * 2**20), pytest.raises(DataError, match="more than the expected"):
        fetch(SET, folder, [server.mirror("bomb")])


def test_a_server_that_drips_is_given_up_before_the_first_kilobytes_are_there(server, folder, monkeypatch):
    monkeypatch.setattr(download, "SILENCE", 0.5)
    ended = []
    server.behaviours["drop"] = lambda to, body: ended.append(drip(to, body, piece=10))
    with pytest.raises(DataError, match="slower than"):
        fetch(SET, folder, [server.mirror("drop")])
    assert not ended  # it would go on for ten seconds, two kilobytes in all


def test_a_slow_server_is_waited_for_as_long_as_it_is_not_too_slow(server, folder, monkeypatch):
    monkeypatch.setattr(download, "SILENCE", 2.0)
    monkeypatch.setattr(download, "SLOWEST", 10_000)
    server.behaviours["trickle"] = lambda to, body: drip(to, body, piece=4096)  # takes longer than SILENCE
    fetch(only(LETTERS), folder, [server.mirror("trickle")])
    assert tree(folder) == {"letters.txt": CONTENTS["letters.txt"]}


@pytest.mark.parametrize("fault", ["500", "wrong-byte", "cut", "reset", "one-byte-more"])
def test_a_mirror_is_tried_again_before_the_next_one_is_asked(server, folder, monkeypatch, fault):
    monkeypatch.setattr(download, "RETRIES", RETRIES)
    mirrors = (server.first(*[fault] * RETRIES), server.mirror("good"))
    fetch(replace(only(LETTERS), mirrors=mirrors), folder)
    assert tree(folder) == {"letters.txt": CONTENTS["letters.txt"]}
    assert server.asked == {"changing": RETRIES + 1}
    assert RETRIES > 0


def test_a_mirror_is_not_tried_for_ever(server, folder, monkeypatch):
    monkeypatch.setattr(download, "RETRIES", RETRIES)
    mirrors = (server.first(*["500"] * (RETRIES + 1)), server.mirror("good"))
    fetch(replace(only(LETTERS), mirrors=mirrors), folder)
    assert server.asked == {"changing": RETRIES + 1, "good": 1}


def test_a_file_is_not_visible_while_it_comes_and_its_progress_is(server, folder):
    seen = []

    def watch(name, done, size):
        assert not (folder / name).exists()
        seen.append((name, done, size))

    fetch(replace(SET, mirrors=(server.mirror("good"),)), folder, watch=watch)
    for file in SET.files:
        done = [done for name, done, size in seen if (name, size) == (file.download, file.download_size)]
        assert done == sorted(set(done))
        assert done[-1] == file.download_size
        assert len(done) > 1


@pytest.mark.parametrize("mirror", ["", "nonsense", "http://", "http://[::1/", "ftp://127.0.0.1/", "file:///etc/"])
def test_a_mirror_that_is_no_address_is_a_failure_like_others(server, folder, mirror):
    with pytest.raises(DataError, match=r"letters\.txt could not be fetched"):
        fetch(SET, folder, [mirror])
    assert tree(folder) == {}


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_downloaded_file_may_be_read_by_others_like_one_that_was_brought(server, folder, tmp_path):
    fetch(SET, folder, [server.mirror("good")])
    bring(SET, folder, tmp_path / "brought")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [*folder.iterdir(), *(tmp_path / "brought").iterdir()]}
    assert modes == {0o644}


def test_a_folder_called_tilde_is_a_folder_called_tilde(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    fetch(SET, Path("~/data"), [server.mirror("good")])
    assert tree(Path("~/data")) == DOWNLOADS


def test_an_archive_that_is_too_large_is_given_up(server, folder, archives, monkeypatch):
    monkeypatch.setattr(download, "LARGEST_ARCHIVE", 1000)
    with pytest.raises(DataError, match="more than the expected 1,000 bytes"):
        fetch(archives(right=CONTENTS), folder)
    assert tree(folder) == {}
