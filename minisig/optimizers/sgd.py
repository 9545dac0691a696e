"""Plain stochastic gradient descent, w ← w − η g: a weight matrix's is one matrix product that adds."""

from minisig.backends import Array, Backend
from minisig.gradients import Gradient
from minisig.optimizers.base import Optimizer


class SGD(Optimizer):
    """w ← w − η g."""

    def apply(self, w: Array, g: Gradient, slots: dict[str, Array], numbers: float | Array, backend: Backend) -> None:
        g.accumulate(w, alpha=numbers, beta=1.0, backend=backend)
