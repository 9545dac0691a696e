"""A disk that fails at a call that writes, and one with little room."""

import errno
import io
import os
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from safetensors import SafetensorError
from safetensors.numpy import save

from minisig.training import files

FULL, TOO_LARGE = os.strerror(errno.ENOSPC), os.strerror(errno.EFBIG)


@contextmanager
def little_room(most):
    """No file of this process may have more bytes than these: what is longer is really cut off."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def full():
    raise OSError(errno.ENOSPC, FULL)


class Disk:
    """Between a run and its folder: every call that writes is noted, and the n-th meets its fate, perhaps halfway.

    Nothing is flushed to the real disk, for no test can pull the plug.
    """

    def __init__(self, folder, n=0, fate=full, *, torn=False):
        self.folder, self.n, self.fate, self.torn = str(folder), n, fate, torn
        self.calls = []

    def call(self, name, half=None):
        self.calls.append(name)
        if len(self.calls) == self.n:
            if self.torn and half:
                half()
            self.fate()

    def ours(self, path):
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self.folder)

    @contextmanager
    def patched(self):
        real_open, real_os_open, real_mkdir, real_replace = io.open, os.open, os.mkdir, os.replace
        real_save = files.save_file

        def open_(path, mode="r", *args, **kwargs):
            writes = self.ours(path) and set(mode) & set("wax+")
            if writes:
                self.call("open")
            file = real_open(path, mode, *args, **kwargs)
            return File(file, self) if writes else file

        def os_open(path, flags, *args, **kwargs):
            if self.ours(path) and flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                self.call("open")
            return real_os_open(path, flags, *args, **kwargs)

        def mkdir(path, *args, **kwargs):
            if self.ours(path) and not Path(path).exists():
                self.call("mkdir")
            real_mkdir(path, *args, **kwargs)

        def replace(path, target):
            if self.ours(path):
                self.call("replace")
            real_replace(path, target)

        def save_file(arrays, path, metadata=None):
            content = save(arrays, metadata)
            try:
                self.call("save", lambda: Path(path).write_bytes(content[: len(content) // 2]))
            except OSError:  # as safetensors has it
                raise SafetensorError(f"Error while serializing: I/O error: {FULL} (os error 28)") from None
            real_save(arrays, path, metadata)

        with (
            patch.object(io, "open", open_),
            patch.object(os, "open", os_open),
            patch.object(os, "mkdir", mkdir),
            patch.object(os, "replace", replace),
            patch.object(os, "fsync", lambda file: self.call("fsync")),
            patch.object(files, "save_file", save_file),
        ):
            yield

    def under(self, task):
        with self.patched():
            return task()


class File:
    """An open file whose writes the disk hears of."""

    def __init__(self, file, disk):
        self.file, self.disk = file, disk

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, content):
        def half():
            self.file.write(content[: len(content) // 2])
            self.file.flush()

        self.disk.call("write", half)
        return self.file.write(content)

    def truncate(self, size):
        self.disk.call("truncate")
        return self.file.truncate(size)
