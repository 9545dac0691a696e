"""Embedding: every token has a row of E.

forward     x  = E[tokens]          (T, B) -> (T, B, n)
backward    dE[token] += dx         kept as rows and values, see gradients.Rows

If there are few tokens in the vocabulary, x is not made at all, see lookup.py.
"""

from minisig.backends import Array, Backend
from minisig.gradients import Gradient
from minisig.layers.lookup import Lookup, Return, table_gradient

SHORT = 4  # a table with this many times fewer rows than there are tokens is worth the detour by lookup.py


class Embedding:
    """x = E[tokens], (T, B) -> (T, B, n)."""

    takes_tokens = True

    def __init__(self, E: Array) -> None:
        self.params = {"E": E}

    @property
    def vocabulary(self) -> int:
        return len(self.params["E"])

    def forward(self, tokens: Array, backend: Backend) -> tuple[Array | Lookup, Array]:
        E = self.params["E"]
        if SHORT * len(E) < tokens.size:
            return Lookup(E.copy(), tokens), tokens  # E will change while the next layer's gradient is still to be made
        return E[tokens], tokens

    def backward(self, dx: Array | Return, tokens: Array, backend: Backend) -> tuple[None, dict[str, Gradient]]:
        return None, {"E": table_gradient(dx, tokens, self.params["E"])}
