"""Backends: the only files that know the array library.

A backend is an explicit object, resolved once by `get_backend` and handed down to every layer.
"""

from types import ModuleType
from typing import Any, Protocol

from minisig.errors import require_known

Array = Any  # numpy.ndarray, or the array type of another backend


class Backend(Protocol):
    """The array module and the few fused primitives that the layers, losses and optimizers are made of.

    Every array keeps the dtype it comes with; `dtype` is that of new parameters and inputs.
    """

    xp: ModuleType
    dtype: Any

    def asarray(self, values: Any) -> Array:
        """Contiguous array of `dtype` on the device."""

    def to_host(self, values: Array) -> Any:
        """The same values as a numpy.ndarray."""

    def within(self, indices: Array, count: int) -> bool:
        """Whether all are among 0 … count − 1; on a device always true, for a look at them would wait for it."""

    def floats(self, scalars: list[Array]) -> list[float]:
        """Scalars from the device, all in one transfer."""

    def matmul(self, a: Array, b: Array) -> Array:
        """a b"""

    def gemm(self, alpha: float | Array, a: Array, b: Array, beta: float, c: Array) -> None:
        """c ← α a b + β c, in place."""

    def add(self, alpha: float, a: Array, into: Array) -> None:
        """into ← into + α a, in place."""

    def norm(self, a: Array) -> Array:
        """Euclidean norm of all entries, a scalar on the device; squares neither overflow nor underflow."""

    def gram_norm(self, x: Array, dz: Array) -> Array:
        """‖xᵀ dz‖_F from x xᵀ and dz dzᵀ, a scalar on the device."""

    def rows_norm(self, rows: Array, values: Array, count: int) -> Array:
        """The norm of a table of `count` rows to which scatter_add has added the values, a scalar on the device."""

    def clip_factor(self, norms: list[Array], most: float) -> float | Array:
        """What brings gradients of these norms, together, down to `most`; 1 if they are there. Not fetched either."""

    def row_sum(self, dz: Array) -> Array:
        """Σ_rows dz, (m,) of dz (B, m)."""

    def add_row_sum(self, alpha: float | Array, dz: Array, beta: float, into: Array) -> None:
        """into ← α Σ_rows dz + β into, in place."""

    def affine(self, x: Array, W: Array, b: Array) -> Array:
        """x W + b"""

    def sigmoid(self, z: Array, out: Array | None = None) -> Array:
        """y = 1 / (1 + e^−z)"""

    def sigmoid_backward(self, dy: Array, y: Array, out: Array | None = None) -> Array:
        """dz = dy · y (1 − y)"""

    def lstm_gates(self, z: Array, c_prev: Array, gates: Array, c: Array, tanh_c: Array, h: Array) -> None:
        """One step of layers.lstm, lines 2 to 4: from logits z (B, 4H) fill gates, c, tanh_c and h."""

    def lstm_slopes(self, gates: Array, c_prev: Array, tanh_c: Array) -> tuple[Array, Array]:
        """What of layers.lstm's backward needs no dh or dc, for all steps at once.

        (T, B, 4H), the derivatives of c by z_i, z_f and z_g and of h by z_o; and (T, B, H), that of h by c.
        """

    def lstm_gates_backward(self, dh: Array, dc: Array, reach: Array, f: Array, dz: Array) -> None:
        """Lines 4' to 2' of one step with both of them at hand: its slopes dz become ∂L/∂z, dc becomes that of c_prev.

        reach is overwritten.
        """

    def softmax_cross_entropy(self, z: Array, labels: Array) -> tuple[Array, Array]:
        """Loss of every row, (B,), and the gradient of their mean with respect to z, (B, C)."""

    def adam(
        self,
        W: Array,
        m: Array,
        v: Array,
        g: Array,
        step: float,
        beta1: float,
        beta2: float,
        epsilon: float,
        scale: float | Array,
    ) -> None:
        """g ← scale g,  m ← β₁m + g,  v ← β₂v + g²,  W ← W − step · m / (√v + ε), in place.

        g may be used as scratch space.
        """

    def bilinear(self, images: Array, at: Array, outside: float) -> Array:
        """(B, h′, w′) from images (B, h, w): pixel (i, j) of image b shows it at (row, column) at[:, i, b, j].

        at (2, h′, B, w′) is overwritten. Pixels are at whole positions; beyond the edge they all are `outside`.
        """

    def scatter_add(self, into: Array, rows: Array, values: Array) -> None:
        """into[rows[i]] += values[i]; a row that occurs twice counts twice."""


BACKENDS = ("numpy", "cupy")
DTYPES = ("float32", "float64")


def get_backend(name: str = "numpy", dtype: str = "float32", memory: float | None = None) -> Backend:
    """The backend called `name`, computing in `dtype` ("float32" or "float64").

    `memory` is the most of the device's, in gigabytes, that cupy may take. Without a usable GPU it raises
    BackendUnavailable, which says what is missing.
    """
    require_known("backend", name, BACKENDS)
    require_known("dtype", dtype, DTYPES)
    if name == "cupy":
        from minisig.backends.device import require_device

        require_device(memory)
        from minisig.backends.cupy import CupyBackend

        return CupyBackend(dtype)
    from minisig.backends.numpy import NumpyBackend

    return NumpyBackend(dtype)
