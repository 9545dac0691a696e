"""Inverted dropout: every unit is silenced with probability p while training.

    forward     y  = x · m,   m = Bernoulli(1 − p) / (1 − p)        any shape; y = x when evaluating
    backward    dx = dy · m

The division keeps E y = x, so that evaluation needs no factor.
"""

from numpy.random import Generator

from minisig.backends import Array, Backend
from minisig.errors import UsageError
from minisig.gradients import Gradient


class Dropout:
    """Silences a share p of the entries while training, and lets the others make up for it."""

    draws = True

    def __init__(self, p: float) -> None:
        if not 0 <= p < 1:
            raise UsageError(f"dropout needs a probability 0 ≤ p < 1, got {p}")
        self.p = p
        self.params: dict[str, Array] = {}

    def forward(self, x: Array, backend: Backend, rng: Generator | None = None) -> tuple[Array, Array | None]:
        if rng is None or self.p == 0:
            return x, None
        kept = rng.random(x.shape, dtype="float32") >= self.p
        m = backend.asarray(kept * (1 / (1 - self.p)))
        return x * m, m

    def backward(self, dy: Array, m: Array | None, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        return (dy if m is None else dy * m), {}
