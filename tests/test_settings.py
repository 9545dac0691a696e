"""Settings belong to the part that has them."""

from typing import ClassVar

import msgspec
import pytest

from minisig.errors import MinisigError, UsageError
from minisig.experiments import configure, settings
from minisig.plugins import Table
from minisig.settings import Part, Parts, Settings, brought, changed, checked, explained


class Knob(Settings):
    turns: int = 3


class Dial(Settings):
    angle: float = 0.5


def knob(turns):
    return f"{turns} turns"


def plain():
    return "plain"


knob.Settings = Knob
dial = type("dial", (), {"Settings": Dial})
TABLE = Table("toys", {"knob": knob, "dial": dial, "plain": plain})


class Group(Settings, kw_only=True):
    parts: ClassVar[Parts] = {"kind": Part(TABLE)}

    kind: str = "knob"
    size: int


def test_a_part_brings_its_settings_with_their_defaults():
    assert msgspec.to_builtins(checked({"size": 1}, Group)) == {"kind": "knob", "size": 1, "turns": 3}
    assert msgspec.to_builtins(checked({"size": 1, "kind": "plain"}, Group)) == {"kind": "plain", "size": 1}


def test_two_that_are_alike_are_equal():
    assert checked({"size": 1}, Group) == checked({"size": 1, "turns": 3}, Group) == checked(Group(size=1), Group)


def test_a_row_is_called_with_its_own_settings():
    chosen = checked({"size": 1, "turns": 7}, Group)
    assert TABLE[chosen.kind](**brought(TABLE[chosen.kind], chosen)) == "7 turns"
    assert brought(plain, chosen) == {}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": 1, "angle": 1.0}, "toys.angle is a setting of dial; leave it out for knob"),
        ({"size": 1, "kind": "dial", "turns": 1}, "toys.turns is a setting of knob; leave it out for dial"),
        ({"size": 1, "kind": "knop"}, "unknown toys.kind 'knop'. Did you mean 'knob'?"),
        ({"size": 1, "kind": ["knob"]}, r"toys.kind: expected str, got \['knob'\]"),
        ({"size": 1, "turn": 1}, "unknown setting of toys 'turn'. Did you mean 'turns'?"),
        ({"size": 1, "turns": "many"}, "toys.turns: expected int, got 'many'"),
        ({"turns": 1}, "toys.size is missing"),
        (5, "toys: expected settings by their names, got 5"),
    ],
)
def test_what_does_not_belong_is_refused_by_its_full_name(fields, message):
    with pytest.raises(UsageError, match=message):
        checked(fields, Group, "toys.")


def test_two_parts_cannot_bring_a_setting_of_one_name():
    class Twice(Settings):
        parts: ClassVar[Parts] = {"first": Part(TABLE), "second": Part(TABLE)}

        first: str = "knob"
        second: str = "other"

    clash = type("other", (), {"Settings": type("Own", (Knob,), {}, frozen=True, kw_only=True)})
    TABLE["other"] = clash
    try:
        with pytest.raises(MinisigError, match="there is another setting called turns"):
            checked({}, Twice)
    finally:
        del TABLE["other"]


def test_only_what_differs_from_the_defaults_is_told():
    assert changed(checked({"size": 1}, Group)) == {"size": 1}
    assert changed(checked({"size": 1, "turns": 4}, Group)) == {"size": 1, "turns": 4}


def test_every_setting_is_explained_with_who_brings_it():
    rows = {one.name: one for one in explained(checked({"size": 1}, Group))}
    assert rows["turns"].owner == "knob"
    assert rows["kind"].choices == ["knob", "dial", "plain"]
    assert (rows["size"].owner, rows["size"].choices) == ("", [])


def test_a_group_of_another_part_forgets_the_settings_of_the_first():
    config = configure("digits", {"optimizer.momentum": 0.5})
    assert config.optimizer.momentum == 0.5
    assert "optimizer.momentum" not in settings(configure("digits", {"optimizer.name": "adam"}))


def test_a_setting_may_hold_names_with_dots():
    config = configure("copy-memory", {"optimizer.rates": {"rnn0.Wh": 0.001}})
    assert config.optimizer.rates == {"rnn0.Wh": 0.001}
    assert settings(config)["optimizer.rates"] == {"rnn0.Wh": 0.001}
    assert configure("copy-memory", {"optimizer": {"rates": {"rnn0.Wh": 0.001}}}) == config
