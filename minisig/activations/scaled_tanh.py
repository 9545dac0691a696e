"""LeCun's scaled hyperbolic tangent, y = A tanh(B z) with A = 1.7159 and B = 2/3, the paper's baseline.

    forward     y  = A tanh(B z)        any shape
    backward    dz = dy · (B/A) (A² − y²)

It is a logistic in disguise, y = 2A (g(2B z) − ½).
"""

from minisig.activations.base import Logistic
from minisig.activations.logistic import LogisticActivation
from minisig.backends import Array, Backend
from minisig.gradients import Gradient

A = 1.7159
B = 2.0 / 3.0


class ScaledTanh(LogisticActivation):
    """y = A tanh(B z), of any shape."""

    name = "scaled-tanh"
    logistic = Logistic(slope=2 * B, scale=2 * A, centre=0.0)

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
