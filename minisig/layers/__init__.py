"""Layers: one file each, the formulas, forward, backward.

A layer is any object with

    params                          {name: array}, possibly empty
    forward(x, backend)             -> (y, cache)
    backward(dy, cache, backend)    -> (dx, {name: Gradient})

and remembers nothing between the two calls: all that backward needs is in the cache. A Gradient is one of those in
gradients.py; Evaluated wraps an array of the parameter's shape. More is optional:

    takes_tokens = True             x are integers, not to be converted
    takes_lookups = True            x may be a Lookup, and dx a Return, see lookup.py
    draws = True                    forward takes another argument, the generator of its draws or None when evaluating
    carries = True                  forward takes another one, the state carried over or None for a fresh start, and
                                    last_state(cache) returns the one to carry on, an array or a tuple of arrays
    gradients(dy, cache, backend)   the second half of backward alone, by which a network's first layer, whose dx
                                    nobody needs, saves a matrix product
"""

from typing import Any, Protocol

from minisig.backends import Array, Backend
from minisig.gradients import Gradient
from minisig.layers.dense import Dense
from minisig.layers.dropout import Dropout
from minisig.layers.embedding import Embedding
from minisig.layers.gru import GRU
from minisig.layers.lstm import LSTM
from minisig.layers.rnn import RNN
from minisig.layers.scaled_tanh import ScaledTanh
from minisig.layers.sigmoid import Sigmoid


class Layer(Protocol):
    params: dict[str, Array]

    def forward(self, x: Array, backend: Backend) -> tuple[Array, Any]: ...

    def backward(self, dy: Array, cache: Any, backend: Backend) -> tuple[Array, dict[str, Gradient]]: ...


ACTIVATIONS: dict[str, type[Sigmoid] | type[ScaledTanh]] = {"sigmoid": Sigmoid, "scaled-tanh": ScaledTanh}

CELLS: dict[str, type[RNN] | type[LSTM] | type[GRU]] = {"rnn": RNN, "lstm": LSTM, "gru": GRU}

__all__ = [
    "ACTIVATIONS",
    "CELLS",
    "GRU",
    "LSTM",
    "RNN",
    "Dense",
    "Dropout",
    "Embedding",
    "Layer",
    "ScaledTanh",
    "Sigmoid",
]
