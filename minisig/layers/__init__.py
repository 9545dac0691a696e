"""Layers: one file each, the formulas, forward, backward.

A layer is any object with

    params                          {name: array}, possibly empty
    forward(x, backend)             -> (y, cache)
    backward(dy, cache, backend)    -> (dx, {name: Gradient})

and remembers nothing between the two calls: all that backward needs is in the cache. Two more things are optional.
`draws = True` says that forward takes a third argument, the generator of its random draws or None when evaluating.
`gradients(dy, cache, backend)` returns the second half of backward alone; a network's first layer, whose dx
nobody needs, saves a matrix product by it.
"""

from typing import Any, Protocol

from minisig.backends import Array, Backend
from minisig.gradients import Gradient
from minisig.layers.dense import Dense
from minisig.layers.dropout import Dropout
from minisig.layers.scaled_tanh import ScaledTanh
from minisig.layers.sigmoid import Sigmoid


class Layer(Protocol):
    params: dict[str, Array]

    def forward(self, x: Array, backend: Backend) -> tuple[Array, Any]: ...

    def backward(self, dy: Array, cache: Any, backend: Backend) -> tuple[Array, dict[str, Gradient]]: ...


ACTIVATIONS: dict[str, type[Sigmoid] | type[ScaledTanh]] = {"sigmoid": Sigmoid, "scaled-tanh": ScaledTanh}

__all__ = ["ACTIVATIONS", "Dense", "Dropout", "Layer", "ScaledTanh", "Sigmoid"]
