"""Shared libraries from C++, compiled once and kept in a cache folder."""

import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
COMPILER = os.environ.get("CXX", "g++")
FLAGS = ("-std=c++17", "-shared", "-fPIC", "-U_FORTIFY_SOURCE")  # with which longjmp would refuse to change stacks


class BuildFailed(RuntimeError):
    """The host's compiler refused a source."""


def default_folder() -> Path:
    """In the system's temporary directory, the user's own: compiled code is loaded from it."""
    folder = Path(tempfile.gettempdir()) / f"minisig-cupy-host-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise BuildFailed(f"{folder} is not a folder of this user's: give another one")
    return folder


def shared_library(folder: Path, source: str, *, name: str, flags: Sequence[str] = (), extra: str = "") -> Path:
    """The library made of this C++ source, compiled unless it is there already.

    `extra` is what else its content depends on. Two processes may compile at once: each writes under a name of its
    own, and renames.
    """
    command = [COMPILER, *FLAGS, *flags]
    key = hashlib.sha256("\0".join([_compiler_version(), *command, source, extra]).encode()).hexdigest()[:32]
    library = folder / f"{name[:60]}-{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            code, made = Path(scratch) / f"{name[:60]}.cpp", Path(scratch) / "made.so"
            code.write_text(source)
            run([*command, str(code), "-o", str(made)], f"the host compiler refuses {name}")
            made.replace(library)
    return library


def write(path: Path, text: str) -> None:
    """Whole, whoever else may be reading or writing it."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def run(command: Sequence[str], what: str) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"{what}:\n{done.stderr.strip()[:4000]}")
    return done.stdout


@cache
def _compiler_version() -> str:
    try:
        return run([COMPILER, "-dumpfullversion", "-dumpmachine"], f"{COMPILER} does not work")
    except FileNotFoundError:
        raise BuildFailed(f"the host device needs a C++ compiler, there is no {COMPILER}") from None
