"""Dense layer, z = x W + b.

forward     z  = x W + b            (B, n) -> (B, m), or (T, B, n) -> (T, B, m)
backward    dx = dz Wᵀ
            dW = xᵀ dz              kept factored, see gradients.Outer
            db = Σ_batch dz
"""

from collections.abc import Mapping

from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Outer, RowSum, rows


class Dense:
    """z = x W + b, (B, n) -> (B, m)."""

    def __init__(self, W: Array, b: Array) -> None:
        self.params = {"W": W, "b": b}

    @property
    def input_size(self) -> int:
        return len(self.params["W"])

    def forward(self, x: Array, backend: Backend) -> tuple[Array, Array]:
        z = backend.affine(rows(x), self.params["W"], self.params["b"])
        return z.reshape(*x.shape[:-1], -1), x  # backward needs the input, nothing else

    def backward(self, dz: Array, x: Array, backend: Backend) -> tuple[Array, dict[str, Gradient]]:
        dx = backend.matmul(rows(dz), self.params["W"].T)
        return dx.reshape(x.shape), self.gradients(dz, x, backend)

    def gradients(self, dz: Array, x: Array, backend: Backend) -> dict[str, Gradient]:
        return {"W": Outer(rows(x), rows(dz)), "b": RowSum(rows(dz))}

    def logits(self, z: Array, x: Array) -> Array:
        return z

    def logit_gradient(self, dz: Array, x: Array, gradients: Mapping[str, Gradient]) -> Array:
        return dz
