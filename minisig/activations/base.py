"""An activation: a layer without parameters, y = f(z), entry by entry.

    forward     y  = f(z)               any shape
    backward    dz = dy · f′(z)

`value` and `derivative` say all there is to know; initializers, statistics and bounds ask them too.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy.special

from minisig.backends import Array, Backend
from minisig.gradients import Gradient


@dataclass(frozen=True)
class Logistic:
    """y = centre + scale · (g(slope · z) − ½) with g(z) = 1 / (1 + e^−z), by its three numbers."""

    slope: float
    scale: float
    centre: float


class Activation(ABC):
    """y = f(z), of any shape; one of your own says what f and f′ are, and how large |f′| gets.

    >>> import minisig as ms
    >>> class Sine(ms.Activation):
    ...     steepest = 1.0
    ...
    ...     def value(self, z, xp=np):
    ...         return xp.sin(z)
    ...
    ...     def derivative(self, z, xp=np):
    ...         return xp.cos(z)
    >>> net = ms.mlp([4, 5, 4], init="glorot", activation=Sine())
    >>> list(net.layers)
    ['dense0', 'sine0', 'dense1']
    >>> ms.check_gradients(net, np.eye(4), np.arange(4)).error < 1e-10
    True
    """

    logistic: Logistic | None = None  # its three numbers, if it is a logistic in disguise

    def __init__(self) -> None:
        self.params: dict[str, Array] = {}

    @property
    def name(self) -> str:
        """As in ACTIVATIONS; layers of an mlp are called so."""
        return type(self).__name__.lower()

    @property
    @abstractmethod
    def steepest(self) -> float:
        """max |f′(z)| over all z."""

    @abstractmethod
    def value(self, z: Array, xp: Any = np) -> Array:
        """f(z) in the dtype of z, an array of the module xp; in NumPy also of complex z, see gradient_check."""

    @abstractmethod
    def derivative(self, z: Array, xp: Any = np) -> Array:
        """f′(z) of real z, to full relative precision where it is tiny, too."""

    def forward(self, z: Array, backend: Backend) -> tuple[Array, Any]:
        return self.value(z, backend.xp), z

    def backward(self, dy: Array, z: Any, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        return dy * self.derivative(z, backend.xp), {}


def special(xp: Any) -> ModuleType:
    """The array module's erf, expit and the like."""
    if xp is np:
        return scipy.special  # type: ignore[no-any-return]
    import cupyx.scipy.special

    return cupyx.scipy.special  # type: ignore[no-any-return]
