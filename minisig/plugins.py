"""Tables of names that other projects add to, without a line changed here.

In a program, `table["mine"] = …`. For the command line, an installed project declares it:

    [project.entry-points."minisig.initializers"]
    mine = "my_project:mine"

Installed projects are looked through only when a name is asked for that is not ours, or all names are; what they
declare is imported when it is used, and what goes wrong in it is one line that names it.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from minisig.errors import MinisigError, one_line

T = TypeVar("T")


class Table(MutableMapping[str, T]):
    """Our own rows, and those that installed projects declare as entry points minisig.GROUP, each a `wanted`."""

    def __init__(self, group: str, rows: Mapping[str, T], wanted: type = Callable) -> None:  # type: ignore[assignment]
        self.group, self.rows, self.wanted = f"minisig.{group}", dict(rows), wanted

    @cached_property
    def declared(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in entry_points(group=self.group):
            if (other := found.setdefault(entry.name, entry)) != entry:
                both = f"{_project(other)} and {_project(entry)}"
                raise MinisigError(f"{both} both declare '{entry.name}' in {self.group}: uninstall one of them")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.rows or name in self.declared

    def __iter__(self) -> Iterator[str]:
        return iter({**self.rows, **self.declared})

    def __len__(self) -> int:
        return len(self.rows.keys() | self.declared.keys())

    def __getitem__(self, name: str) -> T:
        if name not in self.rows:
            self.rows[name] = self._load(self.declared[name])
        return self.rows[name]

    def __setitem__(self, name: str, row: T) -> None:
        self._require_wanted(f"'{name}' in {self.group}", row)
        self.rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self.rows[name]

    def _load(self, entry: EntryPoint) -> Any:
        who = f"'{entry.name}' in {self.group}, of {_project(entry)}"
        with _blaming(who):
            row = entry.load()
        self._require_wanted(f"{who}: {entry.value}", row)
        return _Blamed(who, row) if callable(row) else row

    def _require_wanted(self, what: str, row: object) -> None:
        if not isinstance(row, self.wanted):
            raise MinisigError(f"{what} is {type(row).__name__}, expected {self.wanted.__name__}")


def _project(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown project"


class _Blamed:
    """A function, class or object of another project: what goes wrong in a call of it names the project."""

    def __init__(self, who: str, row: Any) -> None:
        self._who, self._row = who, row

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _blaming(self._who):
            return self._row(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


@contextmanager
def _blaming(who: str) -> Iterator[None]:
    try:
        yield
    except (MinisigError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise MinisigError(f"{who}: {type(error).__name__}: {one_line(error)}") from error
