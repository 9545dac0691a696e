"""A small public data set, archives of it, a server that does everything wrong with it, and a look at what came."""

import gzip
import io
import os
import signal
import socket
import struct
import sys
import tarfile
import tracemalloc
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import numpy as np
import pytest

from minisig.data.public import PublicFile, PublicSet

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


# Folders, and bounds on what is done


def tree(folder):
    """Everything below the folder, hidden or not: files with their bytes, folders and links with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }


def contents(folder):
    """The files alone, with their bytes."""
    return {name: content for name, content in tree(folder).items() if content is not None}


def put(folder, contents):
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@contextmanager
def memory(most):
    """What is done here takes at most so many bytes."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
        assert peak < most, f"{peak:,} bytes"
    finally:
        tracemalloc.stop()


@contextmanager
def within(seconds=60):
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


# Archives


def member(name, content=b"", type_=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), type_, link
    return info, content


def tar(path, members, mode="w:gz", **options):
    with tarfile.open(path, mode, **options) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


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

# What is odd but not wrong.
ODD = {
    "moved": lambda to, body: answer(to, b"", 302, Location=to.path.replace("/moved/", "/good/")),
    "no-length": lambda to, body: answer(to, body, length=""),
    "packed-on-the-way": lambda to, body: answer(to, gzip.compress(body), Content_Encoding="gzip"),
}


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass


class Handler(Quiet):
    def do_GET(self):
        _, behaviour, name = self.path.split("/")
        self.server.asked[behaviour] += 1
        self.server.encodings.add(self.headers["Accept-Encoding"])
        self.server.behaviours[behaviour](self, self.server.contents.get(name, b""))


class Waiting(ThreadingHTTPServer):
    daemon_threads = False  # they are waited for


class Server(Waiting):
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


# Servers that run


class Shown(Quiet, SimpleHTTPRequestHandler):
    """What lies in a folder."""


@contextmanager
def running(server):
    """In a thread of its own, until the end."""
    with server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving(folder):
    """The address at which a folder of this machine can be seen."""
    with running(Waiting(("127.0.0.1", 0), partial(Shown, directory=folder))) as server:
        yield f"http://127.0.0.1:{server.server_port}"
