"""Dense layer, z = x W + b.

forward     z  = x W + b            (B, n) -> (B, m)
backward    dx = dz Wᵀ
            dW = xᵀ dz              kept factored, see gradients.Outer
            db = Σ_batch dz
"""

from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Outer, RowSum


class Dense:
    def __init__(self, W: Array, b: Array) -> None:
        self.params = {"W": W, "b": b}

    def forward(self, x: Array, backend: Backend) -> tuple[Array, Array]:
        z = backend.affine(x, self.params["W"], self.params["b"])
        return z, x  # backward needs the input, nothing else

    def backward(self, dz: Array, x: Array, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        return backend.matmul(dz, self.params["W"].T), self.gradients(dz, x, backend)

    def gradients(self, dz: Array, x: Array, backend: Backend) -> dict[str, Gradient]:
        return {"W": Outer(x, dz), "b": RowSum(dz)}
