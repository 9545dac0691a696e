"""Downloads from servers that fail in every way, and files brought from folders and hostile archives."""

import gzip
import io
import os
import re
import signal
import socket
import stat
import struct
import sys
import tarfile
import tracemalloc
import zipfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from types import SimpleNamespace
from warnings import catch_warnings, simplefilter

import numpy as np
import pytest

from minisig.data import archives as packed
from minisig.data import download
from minisig.data.fetch import bring, fetch
from minisig.data.public import PublicFile, PublicSet
from minisig.errors import DataError, MinisigError

pytest.importorskip("pooch")

RETRIES = download.RETRIES
RNG = np.random.default_rng(0)
CONTENTS = {  # as published; the second is downloaded gzipped
    "letters.txt": RNG.bytes(200_000),
    "numbers": RNG.integers(48, 58, 300_000, dtype=np.uint8).tobytes(),
}
DOWNLOADS = {"letters.txt": CONTENTS["letters.txt"], "numbers.gz": gzip.compress(CONTENTS["numbers"], mtime=0)}


def published(name, download):
    content, travels = CONTENTS[name], DOWNLOADS[download]
    digest, travelling = sha256(content).hexdigest(), sha256(travels).hexdigest()
    return PublicFile(name, len(content), digest, download, travelling, len(travels))


LETTERS, NUMBERS = published("letters.txt", "letters.txt"), published("numbers", "numbers.gz")
SET = PublicSet("small", "two files", "no licence", (LETTERS, NUMBERS), mirrors=())


def only(file):
    return replace(SET, files=(file,))


def tree(folder):
    """Everything below the folder, hidden or not: files with their bytes, folders and links with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }


@contextmanager
def memory(most):
    """What is done here takes at most so many bytes."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@contextmanager
def within(seconds):
    """What is done here does not go on for ever."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs a timer of POSIX")
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("endless"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# A server that can do everything wrong


def answer(to, body, status=200, length=None, **headers):
    to.send_response(status)
    for name, value in ({"Content-Length": len(body) if length is None else length} | headers).items():
        if value != "":
            to.send_header(name.replace("_", "-"), str(value))
    to.end_headers()
    to.wfile.write(body)


def half(body):
    return body[: len(body) // 2]


def wrong_byte(to, body):
    middle = len(body) // 2
    answer(to, body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :])


def cut_chunk(to, body):
    to.protocol_version = "HTTP/1.1"
    answer(to, b"%x\r\n%s" % (len(body), half(body)), length="", Transfer_Encoding="chunked", Connection="close")


def silent(to, body):
    to.server.over.wait(10)


def silent_in_the_middle(to, body):
    answer(to, half(body), length=len(body))
    to.server.over.wait(10)


def drip(to, body, piece=4096, seconds=10):
    answer(to, b"", length=len(body))
    for i in range(int(seconds / 0.05)):
        to.wfile.write(body[i * piece : (i + 1) * piece])
        if to.server.over.wait(0.05):
            return


def reset(to, body):
    answer(to, half(body), length=len(body))
    to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(to.connection.detach())


def endless(to, body, status=200, **headers):
    answer(to, b"", status, length=10**12, **headers)
    for _ in range(64):
        to.wfile.write(bytes(2**20))
        to.server.sent += 2**20


def bomb(to, body):
    answer(to, gzip.compress(bytes(2**20)) * 2**8, Content_Encoding="gzip")


FAULTS = {  # what the server does, and what is said about it
    "cut": (lambda to, body: answer(to, half(body), length=len(body)), "the connection failed|not the published file"),
    "cut-without-a-length": (lambda to, body: answer(to, half(body), length=""), "not the published file"),
    "cut-chunk": (cut_chunk, "the connection failed"),
    "wrong-byte": (wrong_byte, "not the published file"),
    "empty": (lambda to, body: answer(to, b""), "not the published file"),
    "page": (lambda to, body: answer(to, b"<html>Please log in</html>"), "not the published file"),
    "one-byte-more": (lambda to, body: answer(to, body + b"\n"), "more than the expected"),
    "endless": (endless, "more than the expected"),
    "404": (lambda to, body: answer(to, body, 404), "answered 404"),
    "500": (lambda to, body: answer(to, body, 500), "answered 500"),
    "circle": (lambda to, body: answer(to, b"", 302, Location=to.path), "TooManyRedirects"),
    "not-http": (lambda to, body: to.wfile.write(b"220 ftp ready\r\n"), "the connection failed"),
    "reset": (reset, "the connection failed"),
    "refused": (None, "the connection failed"),
    "not-gzip": (lambda to, body: answer(to, body, Content_Encoding="gzip"), "failed|not the published|more than"),
    "bomb": (bomb, "more than the expected"),
    "silent": (silent, "no answer for 0.5 seconds"),
    "silent-in-the-middle": (silent_in_the_middle, "no answer|the connection failed"),
    "drip": (drip, "slower than 1,000,000 bytes a second"),
}
SLOW = ("silent", "silent-in-the-middle", "drip")
CASES = [
    pytest.param(fault, file, id=f"{fault}-{file.name}")
    for fault in FAULTS
    for file in SET.files
    if file is LETTERS or fault not in SLOW
]

# What is odd but not wrong.
ODD = {
    "moved": lambda to, body: answer(to, b"", 302, Location=to.path.replace("/moved/", "/good/")),
    "no-length": lambda to, body: answer(to, body, length=""),
    "packed-on-the-way": lambda to, body: answer(to, gzip.compress(body), Content_Encoding="gzip"),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        _, behaviour, name = self.path.split("/")
        self.server.asked[behaviour] += 1
        self.server.encodings.add(self.headers["Accept-Encoding"])
        self.server.behaviours[behaviour](self, self.server.contents.get(name, b""))

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = False  # they are waited for

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.over, self.asked, self.sent, self.errors = Event(), Counter(), 0, []
        self.contents, self.encodings = dict(DOWNLOADS), set()
        self.behaviours = {"good": answer} | ODD | {fault: do for fault, (do, _) in FAULTS.items()}
        self.nobody = socket.socket()  # its port is taken, but nobody listens
        self.nobody.bind(("127.0.0.1", 0))

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            self.errors.append(sys.exception())

    def mirror(self, behaviour):
        port = self.nobody.getsockname()[1] if behaviour == "refused" else self.server_port
        return f"http://127.0.0.1:{port}/{behaviour}/"

    def first(self, *behaviours):
        """A mirror that does these in turn, and then stays good."""
        turns = iter(behaviours)
        self.behaviours["changing"] = lambda to, body: self.behaviours[next(turns, "good")](to, body)
        return self.mirror("changing")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))  # between its tries
    monkeypatch.setattr(download, "RETRIES", 0)
    with Server() as server, server.nobody:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()
    assert not server.errors


@pytest.fixture
def impatient(monkeypatch):
    def for_(fault):
        if fault in SLOW:
            monkeypatch.setattr(download, "SILENCE", 0.5)
        if fault == "drip":
            monkeypatch.setattr(download, "SLOWEST", 10**6)

    return for_


@pytest.fixture
def folder(tmp_path):
    """The data set's folder; tests that hand it over look at everything in tmp_path."""
    return tmp_path / "home" / "small"


# Downloads


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
    impatient(fault)
    fetch(replace(only(file), mirrors=(server.mirror(fault), server.mirror("good"))), folder)
    assert tree(folder) == {file.download: DOWNLOADS[file.download]}
    assert server.asked["good"] == 1
    assert server.asked[fault] >= 1 or fault == "refused"


@pytest.mark.parametrize("before", [None, b"damaged"], ids=["nothing before", "damaged before"])
@pytest.mark.parametrize(("fault", "file"), [case for case in CASES if case.values[0] not in SLOW])
def test_what_bad_mirrors_send_never_gets_the_right_name(server, folder, impatient, fault, file, before):
    impatient(fault)
    folder.mkdir(parents=True)
    if before:
        (folder / file.download).write_bytes(before)
    with pytest.raises(DataError) as error:
        fetch(replace(only(file), mirrors=(server.mirror("404"), server.mirror(fault))), folder)
    assert error.value.exit_code == 5
    assert tree(folder) == ({file.download: before} if before else {})
    first, *mirrors = str(error.value).splitlines()
    assert first.startswith(f"{file.download} could not be fetched")
    assert "minisig data fetch small --from" in first
    assert [line.strip().split(": ")[0] for line in mirrors] == [server.mirror("404"), server.mirror(fault)]
    assert "answered 404" in mirrors[0]
    assert re.search(FAULTS[fault][1], mirrors[1])


@pytest.mark.parametrize("fault", SLOW)
def test_what_slow_mirrors_send_never_gets_the_right_name(server, folder, impatient, fault):
    test_what_bad_mirrors_send_never_gets_the_right_name(server, folder, impatient, fault, LETTERS, b"damaged")


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


def test_a_server_that_drips_is_given_up_before_the_first_kilobytes_are_there(server, folder, impatient):
    impatient("drip")
    server.behaviours["drop"] = lambda to, body: drip(to, body, piece=10, seconds=2)
    started = monotonic()
    with pytest.raises(DataError, match="slower than"):
        fetch(SET, folder, [server.mirror("drop")])
    assert monotonic() - started < 1.5


def test_a_slow_server_is_waited_for_as_long_as_it_is_not_too_slow(server, folder, impatient, monkeypatch):
    impatient("drip")
    monkeypatch.setattr(download, "SLOWEST", 10_000)
    server.behaviours["trickle"] = lambda to, body: drip(to, body, piece=8192)  # takes more than twice SILENCE
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


# Archives


def member(name, content=b"", type_=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), type_, link
    return info, content


def tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


def zip_(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, catch_warnings():
        simplefilter("ignore")  # a name may come twice
        for info, content in members:
            entry = zipfile.ZipInfo(info.name + "/" * info.isdir())
            entry.compress_type = zipfile.ZIP_DEFLATED
            if info.issym() or info.islnk():
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = info.linkname.encode()
            archive.writestr(entry, content)
    return path


def put(folder, contents):
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def hostile(outside):
    """Members that would do harm if their names or kinds were believed, and the right files among them."""
    letters, numbers = CONTENTS["letters.txt"], DOWNLOADS["numbers.gz"]
    return [
        member("../../evil", b"evil"),
        member("/etc/passwd", b"root::0:0::/:/bin/sh"),
        member(f"{outside}/absolute", b"evil"),
        member("..", type_=tarfile.DIRTYPE),
        member(".", b"evil"),
        member("letters.txt", type_=tarfile.DIRTYPE),
        member("letters.txt", type_=tarfile.SYMTYPE, link="/etc/passwd"),
        member("numbers", type_=tarfile.LNKTYPE, link="../../evil"),
        member("out", type_=tarfile.SYMTYPE, link=str(outside)),
        member("out/letters.txt", b"evil"),
        *(member("letters.txt", type_=kind) for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)),
        member("LETTERS.TXT", letters),
        member("letters.txt.", letters),
        member("letters.txt", b"twice"),
        member(f"{outside}/letters.txt", letters),
        member("letters.txt", b"thrice"),
        member("numbers", CONTENTS["numbers"][:-1]),
        member("a/b/c/../../../../../numbers.gz", numbers),
        member("a/numbers.gz", b"evil"),
    ]


PACK = {"tgz": tar, "zip": zip_, "tar": lambda path, members: tar(path, members, "w:")}


@pytest.mark.parametrize("pack", PACK)
def test_from_a_hostile_archive_only_the_right_files_come_under_our_own_names(tmp_path, folder, pack):
    archive = PACK[pack](tmp_path / f"archive.{pack}", hostile(tmp_path / "outside"))
    before = tree(tmp_path)
    bring(SET, archive, folder)
    assert tree(folder) == DOWNLOADS
    assert tree(tmp_path) == before | {"home": None, "home/small": None} | {
        f"home/small/{name}": content for name, content in DOWNLOADS.items()
    }


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("inside", [DOWNLOADS, CONTENTS], ids=["gz", "plain"])
def test_an_archive_may_hold_the_files_gzipped_or_not_in_any_folder(tmp_path, folder, pack, inside):
    members = [member(f"simple-examples/data/{name}", content) for name, content in inside.items()]
    bring(SET, PACK[pack](tmp_path / "archive", members), folder)  # its name does not matter
    assert tree(folder) == inside


@pytest.mark.parametrize("before", [None, b"damaged"], ids=["nothing before", "damaged before"])
@pytest.mark.parametrize("pack", PACK)
def test_a_wrong_file_in_an_archive_is_refused_by_its_name(tmp_path, folder, pack, before):
    put(folder, {"letters.txt": before} if before else {})
    archive = PACK[pack](tmp_path / "archive", [member("a/letters.txt", b"x" * 200_000)])
    with pytest.raises(
        DataError, match=r"archive: letters\.txt there is not the published file: its SHA-256 is"
    ) as error:
        bring(SET, archive, folder)
    assert error.value.exit_code == 5
    assert tree(folder) == ({"letters.txt": before} if before else {})


@pytest.mark.parametrize("pack", PACK)
def test_a_file_that_an_archive_does_not_hold_is_named(tmp_path, folder, pack):
    archive = PACK[pack](tmp_path / "archive", [member("letters.txt", CONTENTS["letters.txt"])])
    with pytest.raises(DataError, match=r"archive: holds no numbers, gzipped or not"):
        bring(SET, archive, folder)
    assert tree(folder) == {"letters.txt": CONTENTS["letters.txt"]}


def broken(kind, path):
    members = [member(name, content) for name, content in DOWNLOADS.items()]
    if kind == "bad crc":
        with zipfile.ZipFile(path, "w") as archive:
            for info, content in members:
                archive.writestr(info.name, content)
        bits = bytearray(path.read_bytes())
        bits[1000] ^= 1
    elif kind == "bad deflate":
        bits = bytearray(zip_(path, members).read_bytes())
        bits[1000:1100] = bytes(100)
    else:
        bits = {
            "cut tgz": lambda: half(tar(path, members).read_bytes()),
            "cut tar": lambda: half(tar(path, members, "w:").read_bytes()),
            "cut xz": lambda: half(tar(path, members, "w:xz").read_bytes()),
            "cut zip": lambda: half(zip_(path, members).read_bytes()),
            "bad tgz": lambda: (whole := tar(path, members).read_bytes())[:5000] + bytes(100) + whole[5100:],
            "empty": lambda: b"",
            "text": lambda: b"<html>404 not found</html>" * 100,
            "noise": lambda: CONTENTS["letters.txt"],
            "gz": lambda: DOWNLOADS["numbers.gz"],
        }[kind]()
    path.write_bytes(bits)
    return path


BROKEN = [
    "bad crc",
    "bad deflate",
    "cut tgz",
    "cut tar",
    "cut xz",
    "cut zip",
    "bad tgz",
    "empty",
    "text",
    "noise",
    "gz",
]


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_archive_or_none_at_all_is_refused_and_leaves_nothing_wrong(tmp_path, folder, kind):
    with pytest.raises(DataError, match=r"archive: ") as error:
        bring(SET, broken(kind, tmp_path / "archive"), folder)
    assert error.value.exit_code == 5
    assert tree(folder).items() <= DOWNLOADS.items()


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", ["letters.txt", "numbers.gz"])
def test_a_huge_member_is_refused_without_the_memory_for_it(tmp_path, folder, pack, name):
    huge = gzip.compress(bytes(2**20)) * 64 if name.endswith(".gz") else bytes(2**26)
    archive = PACK[pack](tmp_path / "archive", [member(name, huge)])
    del huge
    with memory(16 * 2**20), pytest.raises(DataError, match=f"{name} there is not the published file"):
        bring(SET, archive, folder)
    assert tree(folder) == {}


def test_a_huge_header_is_refused_without_the_memory_for_it(tmp_path, folder):
    archive = tar(tmp_path / "archive", [member("letters.txt", bytes(2**25), tarfile.XHDTYPE)])
    with memory(16 * 2**20), pytest.raises(DataError, match="archive: "):
        bring(SET, archive, folder)


@pytest.mark.parametrize("format_", ["gnu", "pax"])
def test_a_member_of_negative_size_is_refused(tmp_path, folder, format_):
    (first, _), (info, _) = member("first"), member("letters.txt")
    if format_ == "gnu":
        info.size = -512
        header = info.tobuf(tarfile.GNU_FORMAT)
    else:
        info.pax_headers = {"size": "-1536"}
        header = info.tobuf(tarfile.PAX_FORMAT)
    (tmp_path / "archive").write_bytes(first.tobuf() + header + bytes(1024))
    with within(0.5), pytest.raises(DataError, match="archive: "):
        bring(SET, tmp_path / "archive", folder)


def test_an_archive_with_too_much_in_it_is_given_up(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(packed, "LARGEST_CONTENT", 2**20)
    members = [member("ballast", bytes(2**19)) for _ in range(3)]
    archive = tar(tmp_path / "archive", [*members, *(member(*item) for item in DOWNLOADS.items())])
    with pytest.raises(DataError, match="more than 1,048,576 bytes"):
        bring(SET, archive, folder)


# Archives as the last resort of downloads


@pytest.fixture
def archives(server, tmp_path):
    """Put archives of these contents on the server; a set whose mirrors have nothing, and which names them."""

    def of(**contents):
        for name, content in contents.items():
            path = tmp_path / "packing"
            server.contents[f"{name}.tgz"] = (
                content
                if isinstance(content, bytes)
                else tar(path, [member(f"a/{inner}", data) for inner, data in content.items()]).read_bytes()
            )
            path.unlink(missing_ok=True)
        urls = tuple(f"{server.mirror('good')}{name}.tgz" for name in contents)
        return replace(SET, mirrors=(server.mirror("404"),), archives=urls)

    return of


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


def test_an_archive_that_is_too_large_is_given_up(server, folder, archives, monkeypatch):
    monkeypatch.setattr(download, "LARGEST_ARCHIVE", 1000)
    with pytest.raises(DataError, match="more than the expected 1,000 bytes"):
        fetch(archives(right=CONTENTS), folder)
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
    with within(5):
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
