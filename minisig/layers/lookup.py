"""Rows of a table that are not looked up before they are needed.

With few tokens and many rows, x = E[tokens], every product with x is quicker with E itself:

    forward     x W + b = (E W + b)[tokens]
    backward    dW = xᵀ dz = Eᵀ S,  dE = S Wᵀ           with S[token] = Σ of the rows of dz at that token

Embedding hands on a Lookup; recurrent layers, which alone take one, hand back a Return. Both are Deferred, and array()
is what they stand for.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Outer, Rows, Summed, rows


class Deferred(ABC):
    """An array that a layer passes on unmade."""

    @abstractmethod
    def array(self) -> Array: ...


def made(x: Array | Deferred) -> Array:
    """What a layer passed on, as an array."""
    return x.array() if isinstance(x, Deferred) else x


@dataclass(frozen=True)
class Lookup(Deferred):
    """x = E[tokens], (T, B, n)."""

    E: Array  # (V, n)
    tokens: Array  # (T, B)

    @property
    def shape(self) -> tuple[int, ...]:
        return *self.tokens.shape, self.E.shape[1]

    def array(self) -> Array:
        return self.E[self.tokens]


@dataclass(frozen=True)
class Return(Deferred):
    """dx = dz Wᵀ, (T, B, n)."""

    dz: Array  # (T, B, m)
    W: Array  # (n, m)
    S: Array  # (V, m)
    backend: Backend

    def array(self) -> Array:
        return self.backend.matmul(rows(self.dz), self.W.T).reshape(*self.dz.shape[:2], -1)


def affine(x: Array | Lookup, W: Array, b: Array, backend: Backend) -> Array:
    """x W + b, (T, B, n) -> (T, B, m)"""
    if isinstance(x, Lookup):
        return backend.affine(x.E, W, b)[x.tokens]
    z = backend.xp.ascontiguousarray(backend.affine(rows(x), W, b))  # each step is written into on its own
    return z.reshape(*x.shape[:2], -1)


def affine_backward(dz: Array, x: Array | Lookup, W: Array, backend: Backend) -> tuple[Array | Return, Gradient]:
    """dx and dW, of dz (T, B, m)"""
    if not isinstance(x, Lookup):
        return backend.matmul(rows(dz), W.T).reshape(x.shape), Outer(rows(x), rows(dz))
    S = backend.xp.zeros((len(x.E), dz.shape[-1]), dtype=dz.dtype)
    backend.scatter_add(S, x.tokens.reshape(-1), rows(dz))
    return Return(dz, W.copy(), S, backend), Summed(x.E, S, lambda: Outer(rows(x.array()), rows(dz)))


def table_gradient(dx: Array | Return, tokens: Array, E: Array) -> Gradient:
    """dE"""
    if isinstance(dx, Return):
        return Summed(dx.S.T, dx.W.T, lambda: Rows(tokens.reshape(-1), rows(dx.array()), len(E)))
    return Rows(tokens.reshape(-1), rows(dx), len(E))
