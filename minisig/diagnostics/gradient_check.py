"""The handwritten backward against complex-step differentiation.

    ∂L/∂w = Im L(w + ih) / h + O(h²)

A network of sigmoids is analytic, so L can be evaluated at w + ih; nothing is subtracted, h may be 1e-30, and the
derivative is exact to rounding. (Squire & Trapp 1998.)

Every parameter, and the input, is checked twice: entry by entry (all entries, or a random sample of a large array)
and along one random direction, which no wrong entry escapes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minisig.backends import Array
from minisig.backends.numpy import NumpyBackend
from minisig.errors import UsageError
from minisig.network import Network, States

STEP = 1e-30


@dataclass(frozen=True)
class Mismatch:
    """Where backward and complex step differ most in one array, relative to the largest of the entries checked."""

    error: float
    where: str  # "dense0.W[3, 7]", or "dense0.W along a random direction"
    backward: float
    complex_step: float

    def __str__(self) -> str:
        both = f"backward {self.backward:.17g}, complex step {self.complex_step:.17g}"
        return f"{self.where}: {both}, error {self.error:.1e}"


@dataclass(frozen=True)
class GradientCheck:
    """The worst mismatch of every array, and of all."""

    by_array: dict[str, Mismatch]

    @property
    def worst(self) -> Mismatch:
        return max(self.by_array.values(), key=lambda mismatch: mismatch.error)

    @property
    def error(self) -> float:
        return self.worst.error

    def __str__(self) -> str:
        return f"gradient check of {len(self.by_array)} arrays, worst {self.worst}"


def check_gradients(
    net: Network,
    x: Any,
    labels: Any,
    *,
    states: States | None = None,
    dropout_seed: int | None = None,
    entries: int = 200,
) -> GradientCheck:
    """Check every parameter of `net` and its input at data x, labels, in float64; recurrent layers start from `states`.

    `entries` is how many entries of each array are checked one by one. With `dropout_seed` the same dropout masks
    are drawn for every evaluation; without it dropout is off.

    >>> import minisig as ms, numpy as np
    >>> x, labels = np.eye(4), np.arange(4)
    >>> ms.check_gradients(ms.mlp([4, 5, 4]), x, labels).error < 1e-10
    True
    """
    if entries < 1:
        raise UsageError(f"expected to check at least one entry of each array, got entries={entries}")
    exact = net.on(NumpyBackend("complex128"))
    point = exact.inputs(x)

    def masks() -> np.random.Generator | None:
        return None if dropout_seed is None else np.random.default_rng(dropout_seed)

    def loss() -> complex:
        return complex(exact.loss(exact.advance(point, states, masks())[0], labels, exact.backend)[0])

    labels = np.asarray(labels)
    double = net.on(NumpyBackend("float64"))
    trace = double.trace(x, labels, masks(), states, input_gradient=True)
    backward = {name: g.dense(double.backend) for name, g in trace.gradients.items()}
    arrays = exact.params
    if trace.dx is not None:  # tokens have no gradient
        backward, arrays = backward | {"x": trace.dx}, arrays | {"x": point}
    rng = np.random.default_rng(0)
    return GradientCheck({name: _worst(name, w, backward[name], loss, entries, rng) for name, w in arrays.items()})


def _worst(
    name: str, w: Array, dw: Array, loss: Callable[[], complex], entries: int, rng: np.random.Generator
) -> Mismatch:
    chosen = np.sort(rng.choice(w.size, size=min(entries, w.size), replace=False))
    steps = np.array([_derivative(w, np.arange(w.size) == i, loss) for i in chosen])
    size = np.abs(steps).max() or np.abs(dw).max() or 1.0  # of a table whose rows did not all occur, all steps may be 0
    errors = np.nan_to_num(np.abs(dw.ravel()[chosen] - steps) / size, nan=np.inf)  # what is not a number is wrong
    i = int(errors.argmax())
    index = ", ".join(str(k) for k in np.unravel_index(chosen[i], w.shape))
    entry = Mismatch(float(errors[i]), f"{name}[{index}]", dw.flat[chosen[i]], steps[i])

    direction = rng.standard_normal(w.size)
    product, along = dw.ravel() @ direction, _derivative(w, direction, loss)
    # The sum over a random direction grows like the gradient's norm, and its rounding error with it.
    error = float(np.nan_to_num(abs(product - along) / max(size, np.linalg.norm(dw)), nan=np.inf))
    whole = Mismatch(error, f"{name} along a random direction", product, along)
    return max(entry, whole, key=lambda mismatch: mismatch.error)


def _derivative(w: Array, direction: Array, loss: Callable[[], complex]) -> float:
    """d loss / dh at w + h·direction, h = 0; w is put back as it was."""
    before = w.copy()
    w += 1j * STEP * direction.reshape(w.shape)
    derivative = loss().imag / STEP
    w[...] = before
    return derivative
