"""Colours: the same initialization has the same one everywhere.

They are Okabe & Ito's, which the colour-blind can tell apart, and a grey; yellow, hard to see on white, comes last.
"""

from collections.abc import Iterable

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#999999", "#f0e442")

NAMES = ("random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun", "lstm", "random+exact", "ortho+exact")
COLOURS = dict(zip(NAMES, PALETTE, strict=True)) | {"scaled-tanh": PALETTE[6]}  # never beside an LSTM


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for every name: its own, if it has one, else what the others leave over, and then again from the first.

    >>> colours(["lecun", "mine"])
    {'lecun': '#d55e00', 'mine': '#0072b2'}
    """
    names = list(names)
    left = [colour for colour in PALETTE if colour not in {COLOURS.get(name) for name in names}] or list(PALETTE)
    others = [name for name in names if name not in COLOURS]
    given = {name: left[i % len(left)] for i, name in enumerate(others)}
    return {name: COLOURS.get(name) or given[name] for name in names}
