"""Random matrices W (n, m), a column for each neuron, and the initializations that take them as they are."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation
from minisig.initializers.inputs import Inputs, Matrix, Target, Weights

Draw = Callable[[int, int, Generator], Matrix]


def zero_bias(
    sizes: Sequence[int], rngs: Sequence[Generator], inputs: Inputs, activation: Activation, *, draw: Draw
) -> tuple[Weights, Target]:
    """Weights from `draw`, biases zero, whatever the data and the activation."""
    shapes = zip(sizes[:-1], sizes[1:], rngs, strict=True)
    return [(draw(n, m, rng), np.zeros(m)) for n, m, rng in shapes], Target()


def uniform(n: int, m: int, rng: Generator, limit: float = 1.0) -> Matrix:
    """w ~ U(−limit, limit)."""
    return rng.uniform(-limit, limit, size=(n, m))


def lecun(n: int, m: int, rng: Generator) -> Matrix:
    """w ~ U(−1/√n, 1/√n), LeCun et al. 2012 as the paper has it."""
    return uniform(n, m, rng, 1 / np.sqrt(n))


def glorot(n: int, m: int, rng: Generator) -> Matrix:
    """w ~ U(−√6/√(n+m), √6/√(n+m)), Glorot & Bengio 2010."""
    return uniform(n, m, rng, np.sqrt(6 / (n + m)))


def orthogonal(n: int, m: int, rng: Generator) -> Matrix:
    """WᵀW = I if n ≥ m, WWᵀ = I otherwise, Haar-distributed (Saxe et al. 2013).

    QR alone favours one sign of R's diagonal; multiplying it back makes the draw uniform (Mezzadri 2007).
    """
    Q, R = np.linalg.qr(rng.standard_normal((max(n, m), min(n, m))))
    Q *= np.where(np.diag(R) < 0, -1.0, 1.0)
    return Q if n >= m else Q.T


DRAWS: dict[str, Draw] = {"ortho": orthogonal, "glorot": glorot, "lecun": lecun}
