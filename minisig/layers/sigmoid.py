"""Standard logistic activation, y = 1 / (1 + e^−z).

forward     y  = g(z)               any shape
backward    dz = dy · y (1 − y)
"""

from minisig.backends import Array, Backend
from minisig.gradients import Gradient


class Sigmoid:
    """y = 1 / (1 + e^−z), of any shape."""

    slope, scale, centre = 1.0, 1.0, 0.5  # y = centre + scale · (g(slope · z) − ½), see initializers.inputs

    def __init__(self) -> None:
        self.params: dict[str, Array] = {}

    def forward(self, z: Array, backend: Backend) -> tuple[Array, Array]:
        y = backend.sigmoid(z)
        return y, y

    def backward(self, dy: Array, y: Array, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        return backend.sigmoid_backward(dy, y), {}
