"""What many tests of data share: a server, the folder to fill, patience, and files of one's own."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from minisig.data import download
from tests.data.mirrors import SET, SLOW, Server, member, running, tar

SILENCE, SLOWEST = download.SILENCE, download.SLOWEST


@pytest.fixture
def server(monkeypatch):
    """A running server, whose mirrors are tried once."""
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))  # between its tries
    monkeypatch.setattr(download, "RETRIES", 0)
    with running(Server()) as server, server.nobody:
        try:
            yield server
        finally:
            server.over.set()
    assert not server.errors


@pytest.fixture
def impatient(server, monkeypatch):
    """Mirrors that do these, one after the other; a slow one is given up soon, and no other."""

    def mirrors(*behaviours):
        for behaviour in behaviours:
            monkeypatch.setattr(download, "SILENCE", 0.5 if behaviour in SLOW else SILENCE)
            monkeypatch.setattr(download, "SLOWEST", 10**6 if behaviour == "drip" else SLOWEST)
            yield server.mirror(behaviour)

    return mirrors


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


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        path = tmp_path / "mine.npz"
        np.savez(path, **arrays)
        return path

    return write


@pytest.fixture
def raw(tmp_path):
    def write(content, suffix):
        path = tmp_path / f"mine{suffix}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
