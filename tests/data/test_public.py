"""The table of public data sets against itself and, where they are at hand, the real files."""

import gzip
import os
import re
from contextlib import suppress
from hashlib import sha256
from threading import Thread

import pytest

from minisig.data.public import MNIST, PTB, PUBLIC, PublicFile
from tests.data.mirrors import memory, within
from tests.data.real import FOLDERS

FILES = [pytest.param(public, file, id=file.name) for public in PUBLIC.values() for file in public.files]


def real(public, file):
    path = file.find(FOLDERS[public.name]) if public.name in FOLDERS else None
    return path or pytest.skip(f"{file.name} of {public.name} is not here")


def small(content):
    digest = sha256(content).hexdigest()
    return PublicFile("small", len(content), digest, "small", digest, len(content))


# The table


def test_names_are_unique_and_safe_to_use_as_paths():
    assert [public.name for public in PUBLIC.values()] == list(PUBLIC)
    for public in PUBLIC.values():
        names = [name for file in public.files for name in file.names]
        assert len(set(names)) == len(names) > 0
        assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) for name in [public.name, *names])


@pytest.mark.parametrize(("public", "file"), FILES)
def test_hashes_and_sizes_fit_together(public, file):
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in (file.sha256, file.download_sha256))
    assert file.download in file.names
    assert file.size > 0
    if file.download == file.name:
        assert (file.download_size, file.download_sha256) == (file.size, file.sha256)
    else:
        assert 0 < file.download_size < file.size
        assert file.download_sha256 != file.sha256


def test_no_hash_is_there_twice():
    hashes = [file.sha256 for public in PUBLIC.values() for file in public.files]
    assert len(set(hashes)) == len(hashes)


def test_sets_say_what_they_are_and_have_mirrors():
    for public in PUBLIC.values():
        assert public.about
        assert public.licence
        assert len(set(public.mirrors)) == len(public.mirrors) > 1
        assert all(re.fullmatch(r"https?://\S+/", mirror) for mirror in public.mirrors)
        assert public.mirrors[0].startswith("https://")
        assert all(re.fullmatch(r"https?://\S+\.(tgz|tar\.gz|zip)", archive) for archive in public.archives)


def test_sizes_of_idx_files_follow_from_their_headers():
    sizes = {file.name: file.size for file in MNIST.files}
    for part, count in (("train", 60_000), ("t10k", 10_000)):
        assert sizes[f"{part}-images-idx3-ubyte"] == 16 + count * 28 * 28
        assert sizes[f"{part}-labels-idx1-ubyte"] == 8 + count


def test_the_licence_of_ptb_warns_of_redistribution():
    assert "No licence to redistribute" in PTB.licence


# Faults


@pytest.mark.parametrize("name", ["small", "small.gz"])
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"abcdef", None),
        (b"abcdeg", r"its SHA-256 is [0-9a-f]{12}…, expected [0-9a-f]{12}…"),
        (b"abcde", "expected 6 bytes, there are 5"),
        (b"", "expected 6 bytes, there are 0"),
        (b"abcdefg", "expected 6 bytes, there are more"),
        (b"abcdef" * 1000, "expected 6 bytes, there are more"),
    ],
    ids=["right", "wrong", "short", "empty", "long", "very long"],
)
def test_a_fault_says_what_is_wrong(tmp_path, name, content, fault):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found = small(b"abcdef").fault(path)
    assert found is None if fault is None else re.fullmatch(fault, found)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("small.gz", b"abcdef"),
        ("small.gz", b""),
        ("small.gz", gzip.compress(b"abcdef")[:-9]),
        ("small.gz", gzip.compress(b"abcdef")[:10] + b"\xff" * 20),
        ("none", None),
    ],
    ids=["not gzip", "empty", "cut", "no deflate", "missing"],
)
def test_what_cannot_be_read_is_a_fault_and_no_exception(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    fault = small(b"abcdef").fault(tmp_path / name)
    assert fault
    assert str(tmp_path) not in fault


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "small").mkdir()
    assert small(b"abcdef").find(tmp_path) is None
    assert "cannot be read" in small(b"abcdef").fault(tmp_path / "small")


def test_the_plain_file_is_found_before_the_gzipped_one(tmp_path):
    file = small(b"abcdef")
    assert file.find(tmp_path) is None
    (tmp_path / "small.gz").write_bytes(b"")
    assert file.find(tmp_path) == tmp_path / "small.gz"
    (tmp_path / "small").write_bytes(b"")
    assert file.find(tmp_path) == tmp_path / "small"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("size", [1000, MNIST.files[0].size], ids=["small", "mnist"])
def test_a_gzip_bomb_without_end_is_refused_without_memory(tmp_path, size):
    path, zeros = tmp_path / "small.gz", gzip.compress(bytes(2**20))
    os.mkfifo(path)

    def explode():
        with suppress(BrokenPipeError), path.open("wb") as file:
            while True:
                file.write(zeros)

    Thread(target=explode, daemon=True).start()
    digest = sha256(b"").hexdigest()
    with within(), memory(10 * 2**20):
        fault = PublicFile("small", size, digest, "small", digest, size).fault(path)
    assert fault == f"expected {size:,} bytes, there are more"


# The real files


@pytest.mark.parametrize(("public", "file"), FILES)
def test_the_real_files_are_as_published(public, file):
    path = real(public, file)
    assert file.fault(path) is None
    if path.name == file.download:
        content = path.read_bytes()
        assert (len(content), sha256(content).hexdigest()) == (file.download_size, file.download_sha256)


SMALL = [pytest.param(*case.values, id=case.id) for case in FILES if case.values[1].size < 500_000]


@pytest.mark.parametrize(("public", "file"), SMALL)
@pytest.mark.parametrize("place", [0, 0.5, -1], ids=["first", "middle", "last"])
def test_one_bit_in_a_real_file_makes_a_fault(tmp_path, public, file, place):
    path = real(public, file)
    content = bytearray(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    (tmp_path / "right").write_bytes(content)
    content[int(len(content) * place) if place > 0 else place] ^= 1
    (tmp_path / "wrong").write_bytes(content)
    assert file.fault(tmp_path / "right") is None
    assert "SHA-256" in file.fault(tmp_path / "wrong")


@pytest.mark.parametrize(("public", "file"), SMALL)
@pytest.mark.parametrize("damage", ["cut", "tail", "flip"])
def test_a_damaged_gzip_of_a_real_file_is_a_fault_and_no_exception(tmp_path, public, file, damage):
    path = real(public, file)
    content = path.read_bytes() if path.suffix == ".gz" else gzip.compress(path.read_bytes())
    middle = len(content) // 2
    damaged = {
        "cut": content[:middle],
        "tail": content[:-1],
        "flip": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
    }[damage]
    (tmp_path / "file.gz").write_bytes(damaged)
    assert file.fault(tmp_path / "file.gz")
