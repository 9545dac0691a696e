"""Standard logistic activation, y = 1 / (1 + e^−z).

forward     y  = g(z)               any shape
backward    dz = dy · y (1 − y)
"""

from minisig.activations.base import Logistic
from minisig.activations.logistic import LogisticActivation
from minisig.backends import Array, Backend
from minisig.gradients import Gradient


class Sigmoid(LogisticActivation):
    """y = 1 / (1 + e^−z), of any shape."""

    logistic = Logistic(slope=1.0, scale=1.0, centre=0.5)

    def forward(self, z: Array, backend: Backend) -> tuple[Array, Array]:
        y = backend.sigmoid(z)
        return y, y

    def backward(self, dy: Array, y: Array, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        return backend.sigmoid_backward(dy, y), {}
