"""Settings: typed, checked, and each brought by the part that has it.

A class of settings may have fields that name a row of a table, as optimizer.name names a row of OPTIMIZERS. That row
brings settings of its own, a class `Settings`, and they stand beside the others:

    {"name": "momentum", "learning_rate": 0.02, "momentum": 0.9}        momentum is what Momentum.Settings has

So a part, ours or another project's, declares what can be set about it and nobody else needs to know. A setting of a
part that was not chosen is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import isfinite
from threading import RLock
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec
import numpy as np
from msgspec.structs import FieldInfo

from minisig.errors import MinisigError, UsageError, require_known
from minisig.plugins import Table

S = TypeVar("S", bound="Settings")

# msgspec prepares a type when it is first used; two threads that do so at once, as on a Dask worker, crash the process.
_PREPARING = RLock()


class Part(NamedTuple):
    """A table of parts, the attribute of its rows that holds their class of settings, and which rows will do here."""

    table: Table[Any]
    attribute: str = "Settings"
    suits: Callable[[Any], bool] = lambda row: True


Parts = Mapping[str, Part]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a part or of a group: names, types and defaults. Numbers may have limits, by msgspec.Meta."""

    parts: ClassVar[Parts] = {}  # the fields that name a row of a table

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self))  # a setting may be a dict


def checked(fields: Mapping[str, Any] | Settings, kind: type[S], before: str = "") -> S:
    """Settings of this kind and of the parts they name, every type and range checked.

    What is wrong is told with the setting's full name, which starts with `before`, and what came.
    """
    plain = as_plain(fields)
    whole, known = f"{before.rstrip('.')}: " if before else "", kind_of(kind, plain, before)
    if not isinstance(plain, dict):
        raise UsageError(f"{whole}expected settings by their names, got {plain!r}"[:300])
    types = fields_of(known)
    values = {}
    for name, value in plain.items():
        if name not in types:
            _refuse(name, kind, plain, types, before)
        inner = _inner(types[name].type) if value is not None else None
        name_ = f"{before}{name}"
        values[name] = checked(value, inner, f"{name_}.") if inner else _value(value, types[name].type, name_)
    if missing := [name for name, field in types.items() if field.required and name not in values]:
        raise UsageError(f"{before}{missing[0]} is missing: it has no default")
    return known(**values)


class Chosen(NamedTuple):
    """A part that settings name."""

    field: str
    name: str
    settings: type[Settings] | None  # its own
    table: Table[Any]
    suits: Callable[[Any], bool]


def kind_of(kind: type[S], plain: Any, before: str = "") -> type[S]:
    """The class with the settings of the parts that are named in `plain`, or by default."""
    own = dict.fromkeys(part.settings for part in parts_of(kind, plain, before) if part.settings)
    with _PREPARING:  # or two threads make two classes, whose settings are never equal
        found: type[S] = _merged(kind, tuple(own)) if own else kind
    return found


def parts_of(kind: type[Settings], plain: Any, before: str = "") -> list[Chosen]:
    """The parts that are named in `plain`, or by default, and those that their settings name in turn."""
    found: dict[str, Chosen] = {}
    waiting = [kind]
    while waiting:
        one = waiting.pop(0)
        for field, (table, attribute, suits) in one.parts.items():
            name = plain.get(field, _default(field, kind, one)) if isinstance(plain, dict) else None
            if name is None:
                continue
            if not isinstance(name, str):
                raise UsageError(f"{before}{field}: expected str, got {name!r}"[:300])
            require_known(f"{before}{field}", name, table)
            if not suits(table[name]):
                others = ", ".join(row for row in table if suits(table[row]))
                who = next((part.name for part in found.values() if part.settings is one), "this")
                raise UsageError(f"{before}{field}: {name} is not for {who}; choose from: {others}")
            own = getattr(table[name], attribute, None) if attribute else None
            found[field] = Chosen(field, name, own, table, suits)
            if own is not None:
                waiting.append(own)
    return list(found.values())


def _default(field: str, *kinds: type[Settings]) -> Any:
    for kind in kinds:
        known = fields_of(kind).get(field)
        if known is not None and known.default is not msgspec.NODEFAULT:
            return known.default
    return None


def with_settings_of(rows: Iterable[tuple[Any, str]]) -> type[Settings]:
    """The settings of these rows, each a part and the attribute that holds its class of settings, and no others."""
    own = [settings for row, attribute in rows if (settings := getattr(row, attribute, None))]
    with _PREPARING:
        found: type[Settings] = _merged(Settings, tuple(own))
    return found


@lru_cache(maxsize=256)
def _merged(kind: Any, brought: tuple[type[Settings], ...]) -> Any:
    fields = {}
    for own in brought:
        for name, field in fields_of(own).items():
            if name in fields or name in fields_of(kind):
                raise MinisigError(f"{own.__qualname__}: there is another setting called {name}; give it another name")
            default = {"default": field.default} if field.default is not msgspec.NODEFAULT else {}
            factory = (
                {"default_factory": field.default_factory} if field.default_factory is not msgspec.NODEFAULT else {}
            )
            fields[name] = (name, field.type, msgspec.field(**default, **factory))
    options: Any = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True}
    return msgspec.defstruct(kind.__name__, fields.values(), bases=(kind,), module=kind.__module__, **options)


def brought(row: Any, chosen: Settings, attribute: str = "Settings") -> dict[str, Any]:
    """The own settings of a row out of those chosen: the keyword arguments that it is called with."""
    own = getattr(row, attribute, None)
    return {name: getattr(chosen, name) for name in fields_of(own)} if own else {}


@lru_cache(maxsize=512)
def fields_of(kind: type) -> dict[str, FieldInfo]:
    """The fields of a class of settings by their names; found once, for msgspec keeps a little of every search."""
    with _PREPARING:
        return {field.name: field for field in msgspec.structs.fields(kind)}


def dotted(fields: Mapping[str, Any], kind: type[Settings], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its full name, such as network.init; `fields` may hold such names already."""
    for name, value in fields.items():
        full = f"{before}{name}"
        if isinstance(value, dict) and value and (group_at(kind, full) or not (before or "." in full)):
            yield from dotted(value, kind, f"{full}.")
        else:
            yield full, value


def group_at(kind: type[Settings], name: str) -> type[Settings] | None:
    """The class of settings that a full name stands for, None if it does for a single setting or for none."""
    found: type[Settings] | None = kind
    for step in name.split("."):
        types = fields_of(found) if found else {}
        found = _inner(types[step].type) if step in types else None
    return found


def nested(given: Mapping[str, Any], kind: type[Settings]) -> dict[str, Any]:
    """Settings by their full names as groups within groups."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        *groups, last = name.split(".")
        inner = found
        for i, step in enumerate(groups, 1):
            if not group_at(kind, ".".join(groups[:i])):
                raise UsageError(f"unknown setting '{name}': '{step}' is not a group of settings")
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                raise UsageError(f"{'.'.join(groups[:i])}: expected settings by their names, got {inner!r}"[:300])
        inner[last] = as_plain(value)
    return found


def replaced(
    fields: Mapping[str, Any], given: Mapping[str, Any], kind: type[Settings], before: str = ""
) -> dict[str, Any]:
    """Plain fields with those given in their place; where another part is named, settings of the one before go."""
    after = fields_of(kind_of(kind, {**fields, **given}, before))
    found = {name: value for name, value in fields.items() if name in after}
    for name, value in given.items():
        inner = _inner(after[name].type) if name in after else None
        if inner and isinstance(value, dict) and value:  # an empty group stands for its defaults
            value = replaced(fields.get(name) or {}, value, inner, f"{before}{name}.")
        found[name] = value
    return found


class Explained(NamedTuple):
    name: str  # full
    value: Any
    owner: str  # the part that brings it, if any
    choices: list[str]  # if it names a part


def explained(chosen: Settings, before: str = "") -> Iterator[Explained]:
    """Every setting with who brings it and what there is to choose from."""
    parts = parts_of(type(chosen), msgspec.to_builtins(chosen), before)
    owner = {name: part.name for part in parts if part.settings for name in fields_of(part.settings)}
    tables = {part.field: [row for row in part.table if part.suits(part.table[row])] for part in parts}
    for name in fields_of(type(chosen)):
        value = getattr(chosen, name)
        if isinstance(value, Settings):
            yield from explained(value, f"{before}{name}.")
        else:
            yield Explained(f"{before}{name}", value, owner.get(name, ""), tables.get(name, []))


def changed(value: Any) -> Any:
    """What differs from the defaults, as plain values: a setting that is new one day changes nothing about the old."""
    if not isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    found = {}
    for name, field in fields_of(type(value)).items():
        own = getattr(value, name)
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if default is msgspec.NODEFAULT or own != default:
            found[name] = changed(own)
    return found


def _inner(kind: Any) -> type[Settings] | None:
    """The class of settings that a setting is a group of, if it is."""
    for one in (kind, *get_args(kind)):
        if isinstance(one, type) and issubclass(one, Settings):
            return one
    return None


def _refuse(name: str, kind: type[Settings], plain: Mapping[str, Any], types: Mapping[str, Any], before: str) -> None:
    chosen = {part.field: part.name for part in parts_of(kind, plain, before)}
    for way in _ways(name, kind):
        field, owner = next((field, row) for field, row in way.items() if chosen.get(field) != row)
        raise UsageError(f"{before}{name} is a setting of {owner}; leave it out for {chosen.get(field, 'the others')}")
    require_known(f"setting of {before.rstrip('.')}" if before else "setting", name, types)


def _ways(name: str, kind: type[Settings]) -> Iterator[dict[str, str]]:
    """What would have to be named, field by field, for a setting of this name to be there."""
    for field, (table, attribute, suits) in kind.parts.items():
        for row, part in table.rows.items():  # of other projects only what is in use
            own = getattr(part, attribute, None) if attribute and suits(part) else None
            if own is None:
                continue
            if name in fields_of(own):
                yield {field: row}
            for way in _ways(name, own):
                yield {field: row} | way


def _value(value: Any, kind: Any, name: str) -> Any:
    for number in _floats(value):
        if not isfinite(number):
            raise UsageError(f"{name}: expected a finite number, got {number}")
    if get_origin(kind) is Literal and isinstance(value, str):
        require_known(name, value, get_args(kind))
    try:
        with _PREPARING:
            return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:  # Expected `int` >= 1 - at `$[0]`, or Expected `int`, got `str`
        expected, _, place = str(error).replace("`", "").partition(" - at $")
        expected = expected[:1].lower() + expected.partition(", got ")[0][1:]
        raise UsageError(f"{name}{place}: {expected}, got {value!r}"[:300]) from None


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            if isinstance(one, float | dict | list | tuple):  # of millions of whole numbers a call for each takes long
                yield from _floats(one)


def as_plain(values: Any) -> Any:
    """The same in Python's own numbers, lists and dicts, all of them new."""
    try:
        return msgspec.to_builtins(values, enc_hook=_plain)
    except RecursionError:
        raise UsageError(
            "expected settings that are numbers, words or lists of them, got lists in lists in …"
        ) from None


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise UsageError(f"expected settings that are numbers, words or lists of them, got {type(value).__name__}")
