"""LeCun's scaled hyperbolic tangent, y = A tanh(B z) with A = 1.7159 and B = 2/3, the paper's baseline.

    forward     y  = A tanh(B z)        any shape
    backward    dz = dy · (B/A) (A² − y²)

It is a logistic in disguise, y = 2A (g(2B z) − ½), so the theory of the sigmoid neuron covers it too.
"""

from minisig.backends import Array, Backend
from minisig.gradients import Gradient

A = 1.7159
B = 2.0 / 3.0


class ScaledTanh:
    """y = A tanh(B z), of any shape."""

    slope, scale, centre = 2 * B, 2 * A, 0.0  # y = centre + scale · (g(slope · z) − ½), see initializers.inputs

    def __init__(self) -> None:
        self.params: dict[str, Array] = {}

    def forward(self, z: Array, backend: Backend) -> tuple[Array, Array]:
        y = B * z
        backend.xp.tanh(y, out=y)
        y *= A
        return y, y

    def backward(self, dy: Array, y: Array, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        dz = A * A - y * y
        dz *= B / A
        dz *= dy
        return dz, {}
