"""What every layer has; the package's docstring says what else one may have."""

from typing import Any, Protocol

from minisig.backends import Array, Backend
from minisig.gradients import Gradient


class Layer(Protocol):
    params: dict[str, Array]

    def forward(self, x: Array, backend: Backend) -> tuple[Array, Any]: ...

    def backward(self, dy: Array, cache: Any, backend: Backend) -> tuple[Array, dict[str, Gradient]]: ...
