"""The mistakes a person can make, each with the exit code that the command line gives it.

Every message says what came, what was expected, and what to do.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

MAX_MESSAGE = 2000  # characters


class MinisigError(Exception):
    """Something failed that is not a bug of minisig; told briefly, whatever names somebody's file has."""

    exit_code = 1

    def __str__(self) -> str:
        text = printable(super().__str__())  # what a file says must not reach a terminal as a command to it
        return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 500]} … {text[3 - 500 :]}"


class UsageError(MinisigError, ValueError):
    """A wrong name, value or combination was asked for."""

    exit_code = 2


class BackendUnavailable(MinisigError):
    """The array library or its device cannot be used on this machine."""

    exit_code = 3


class Diverged(MinisigError):
    """Training produced NaN or infinity."""

    exit_code = 4


class DataError(MinisigError, ValueError):
    """Data are missing, corrupt, or do not fit together."""

    exit_code = 5


class DataChanged(UserWarning):
    """The data are not those any more that a run was trained on."""


class CannotWrite(MinisigError):
    """The disk refuses."""


class InUse(UsageError):
    """A folder that another process has."""


class OutOfMemory(MinisigError):
    """There is less memory than was asked for."""

    def __init__(self) -> None:
        super().__init__("not enough memory: make the network or the batch smaller")


class Interrupted(MinisigError):
    """A signal asked the run to end; it can be resumed."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal


def printable(text: str) -> str:
    """The text with what is not meant to be seen, such as commands to a terminal, spelt out.

    >>> printable("\\x1b[31mred")
    '\\\\x1b[31mred'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the disk refuses is told with the place."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(f"cannot write to {path}: {error.strerror or error}") from None


def one_line(error: BaseException) -> str:
    """What another library says, which may be long and of many lines."""
    return " ".join(str(error).split())[:200]


def require_known(kind: str, name: str, known: Collection[str]) -> None:
    """Raise UsageError, with the nearest known name as a suggestion, unless `name` is one of `known`."""
    if name in known:
        return
    name, known = " ".join(str(name).split()), list(known)
    near = get_close_matches(name.lower(), known, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise UsageError(f"unknown {kind} '{name[:60]}'.{hint} Choose from: {', '.join(known)}.")
