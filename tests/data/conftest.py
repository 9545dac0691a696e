"""What the tests of downloads, archives and fetching share: a server, the folder to fill, and patience."""

from dataclasses import replace
from threading import Thread
from types import SimpleNamespace

import pytest

from minisig.data import download
from tests.data.mirrors import SET, SLOW, Server, member, tar


@pytest.fixture
def server(monkeypatch):
    """A running server, whose mirrors are tried once."""
    pytest.importorskip("pooch")
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
    """Give up a slow mirror soon, if this fault is one."""

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
