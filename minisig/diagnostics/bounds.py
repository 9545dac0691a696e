"""How far a gradient reaches, measured, against three bounds.

Let y^k be the activations of hidden layer k (or the state at step k) and t the last one before the loss. Then

    ∂L/∂y^k = ∂L/∂y^t · Π_{l=t..k+1} diag(f′(z^l)) W_lᵀ          t − k factors, activations being rows

    measured                       ‖∂L/∂y^k‖
    product with real derivatives  ‖∂L/∂y^t‖ Π ‖W_l diag(f′(z^l))‖₂
    spectral                       ‖∂L/∂y^t‖ Π ‖W_l‖₂ · max |f′|            max g′ = 1/4
    frobenius                      ‖∂L/∂y^t‖ Π ‖W_l‖_F · max |f′|           paper, eq. 9

each no smaller than the one before. The paper gives the product t − k − 1 factors; there are t − k. A product of the
last two kinds that falls towards 0 proves that the gradient vanishes; one that grows proves nothing, and at real
widths the last is loose by many decades. So the four are shown together.

The measured gradient is followed back in float64 with f′ from the logits, exact where activations saturate. Norms are
over some examples of the batch. The real derivatives differ from example to example, and the largest factor
over them is taken, which keeps the bound.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite, log10
from typing import Any

import numpy as np

from minisig.activations import Activation
from minisig.diagnostics.spectral import spectral_norms
from minisig.errors import UsageError
from minisig.gradients import rows
from minisig.initializers.inputs import Matrix
from minisig.layers import Dense, Dropout, state_activation
from minisig.trace import Trace

ROUNDING = 1e-14  # more than that of a norm or a product: each bound is rounded up once more than the one before
EXAMPLES = 10  # of the batch; every factor is a largest singular value for each
DEAD, EXPLODED = 1e-2, 1e2  # a gradient that has changed by such a factor on its way


@dataclass(frozen=True)
class Bound:
    """Gradient at `to`, and three bounds from the one at `from_`, which stands nearer to the loss."""

    from_: str
    to: str
    measured: float
    product_with_real_derivatives: float
    spectral: float
    frobenius: float

    @property
    def slack(self) -> float:
        """Decades between what is measured and the paper's bound."""
        return log10(self.frobenius / self.measured) if self.measured > 0 else inf


@dataclass(frozen=True)
class Bounds:
    """From the last hidden activations back to the first; the first row is the starting point itself."""

    rows: Sequence[Bound]

    @property
    def verdict(self) -> str:
        start, end = self.rows[0].measured, self.rows[-1]
        if not (isfinite(start) and isfinite(end.measured)):
            return "explodes"
        if start > 0 and end.spectral < DEAD * start:  # it holds whatever the data, as the looser Frobenius one does
            return "vanishes: guaranteed by the bound"
        if not end.measured > DEAD * start:
            return "vanishes: measured"
        return "alive" if end.measured < EXPLODED * start else "explodes"

    def as_dicts(self) -> list[dict[str, Any]]:
        return [{key.rstrip("_"): value for key, value in asdict(row).items()} for row in self.rows]


@dataclass(frozen=True)
class Link:
    """One factor of the chain: y^l from y^{l−1} through W and an activation of slopes f′(z^l)."""

    name: str  # of y^{l−1}
    W: Matrix  # (n, m)
    slopes: Matrix  # (S, m)
    steepest: float  # max |f′|


def vanishing_bounds(trace: Trace) -> Bounds:
    """Bounds over the hidden layers of a feed-forward network, or over the steps of its last layer h_t = f(z_t)."""
    recurrent = [name for name, layer in trace.layers.items() if state_activation(layer)]
    start, delta, links = _through_time(trace, recurrent[-1]) if recurrent else _through_layers(trace)
    size = float(np.linalg.norm(delta))
    found = [Bound(start, start, size, size, size, size)]
    real = spectral = frobenius = size
    known: dict[int, tuple[float, float]] = {}
    for link in links:
        if id(link.W) not in known:
            whole = float(np.linalg.norm(link.W))
            known[id(link.W)] = min(float(spectral_norms(link.W, upper=True)[0]), whole), whole
        largest, whole = known[id(link.W)]
        # Each factor is an upper bound of the one before it, so the smaller of the two is one as well.
        steepest = float(np.abs(link.slopes).max())
        factor = min(float(spectral_norms(link.W, link.slopes, upper=True).max()), largest * steepest)
        delta = (delta * link.slopes) @ link.W.T
        real *= factor * (1 + ROUNDING)
        spectral *= largest * link.steepest * (1 + 2 * ROUNDING)
        frobenius *= whole * link.steepest * (1 + 3 * ROUNDING)
        found.append(Bound(start, link.name, float(np.linalg.norm(delta)), real, spectral, frobenius))
    return Bounds(found)


def _through_layers(trace: Trace) -> tuple[str, Matrix, list[Link]]:
    host = trace.backend.to_host
    hidden = [name for name, layer in trace.layers.items() if isinstance(layer, Activation)]
    if not hidden:
        raise UsageError(
            "bounds need a hidden layer of activations, or a recurrent layer that has one (not an LSTM); this network "
            "has neither. Derive those of your own from minisig.Activation"
        )
    # Dropout that was off hands its input on.
    names = [n for n, layer in trace.layers.items() if not (isinstance(layer, Dropout) and trace.caches[n] is None)]
    links = []
    for before, after in zip(reversed(hidden[:-1]), reversed(hidden[1:]), strict=True):
        dense = names[names.index(after) - 1]
        layer: Any = trace.layers[dense]
        if not isinstance(layer, Dense) or names.index(after) - names.index(before) != 2:
            raise UsageError(f"bounds need dense layers between activations; {before} and {after} are joined otherwise")
        activation: Any = trace.layers[after]
        z = rows(host(trace.outputs[dense]))[:EXAMPLES].astype(np.float64)
        W = host(layer.params["W"]).astype(np.float64)
        links.append(Link(before, W, activation.derivative(z), activation.steepest))
    return hidden[-1], rows(host(trace.deltas[hidden[-1]]))[:EXAMPLES].astype(np.float64), links


def _through_time(trace: Trace, name: str) -> tuple[str, Matrix, list[Link]]:
    """The loss of the last step alone, followed back through the states."""
    host = trace.backend.to_host
    layer: Any = trace.layers[name]
    if "Wh" not in layer.params:
        raise UsageError(f"bounds need {name}'s weights from state to state, called Wh; it has {[*layer.params]}")
    Wh = host(layer.params["Wh"]).astype(np.float64)
    z = host(layer.logits(trace.outputs[name], trace.caches[name]))[:, :EXAMPLES].astype(np.float64)
    slopes = layer.activation.derivative(z)  # (T, S, H)
    delta = host(trace.deltas[name])[-1, :EXAMPLES].astype(np.float64)  # the last step's loss reaches only its state
    links = [Link(f"{name}[{t - 1}]", Wh, slopes[t], layer.activation.steepest) for t in range(len(slopes) - 1, 0, -1)]
    return f"{name}[{len(slopes) - 1}]", delta, links
