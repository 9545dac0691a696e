"""The initializations by name.

An initializer is a function (sizes, rngs, inputs, activation) -> ([(W, b), …], Target) for a stack of dense layers. For
recurrent networks it has a method besides

    cell(cell, inputs, H, rngs) -> Started          Wx, Wh and perhaps b of H units of this class of recurrent layer

and, if not every class will do, suits(cell). What can be set about the first is its class `Settings`, about the second
`CellSettings`: keyword arguments of the two.
"""

from collections.abc import Callable
from typing import Any

from minisig.initializers.draws import DRAWS, Drawn
from minisig.initializers.ep import EPS
from minisig.initializers.inputs import Target, Weights
from minisig.initializers.lsuv import LSUV
from minisig.plugins import Table

Initializer = Callable[..., tuple[Weights, Target]]

INITIALIZERS: Table[Initializer] = Table(
    "initializers", {**EPS, "lsuv": LSUV(), **{name: Drawn(draw) for name, draw in DRAWS.items()}}
)


def starts(initializer: Any, cell: Any) -> bool:
    """Whether it can initialize recurrent layers of this class."""
    if not hasattr(initializer, "cell"):
        return False
    return bool(initializer.suits(cell)) if hasattr(initializer, "suits") else True
