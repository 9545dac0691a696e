"""Embedding: every token has a row of E.

forward     x  = E[tokens]          (T, B) -> (T, B, n)
backward    dE[token] += dx         kept as rows and values, see gradients.Rows
"""

from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Rows, rows


class Embedding:
    takes_tokens = True

    def __init__(self, E: Array) -> None:
        self.params = {"E": E}

    def forward(self, tokens: Array, backend: Backend) -> tuple[Array, Array]:
        return self.params["E"][tokens], tokens

    def backward(self, dx: Array, tokens: Array, backend: Backend) -> tuple[None, dict[str, Gradient]]:
        return None, {"E": Rows(tokens.reshape(-1), rows(dx), len(self.params["E"]))}
