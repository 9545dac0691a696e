"""Everything `minisig inspect` shows of one network on one batch."""

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from minisig.diagnostics.activations import activation_statistics
from minisig.diagnostics.bounds import Bounds, vanishing_bounds
from minisig.diagnostics.spectral import spectral_norms
from minisig.errors import UsageError
from minisig.gradients import layer_norms
from minisig.jsonable import jsonable
from minisig.network import Network


@dataclass(frozen=True)
class Inspection:
    layers: list[dict[str, Any]]  # name, shape, logit_mean, …, gradient_norm; None where a layer has no such thing
    bounds: Bounds | None

    def as_json(self) -> dict[str, Any]:
        """Plain values, with None for what is not a number."""
        plain: dict[str, Any] = jsonable(
            {
                "layers": self.layers,
                "bounds": self.bounds.as_dicts() if self.bounds else [],
                "verdict": self.bounds.verdict if self.bounds else None,
            }
        )
        return plain


def inspect_network(net: Network, x: Any, labels: Any) -> Inspection:
    """One trace of the network at x, labels, and what it tells of every layer with weights."""
    trace = net.trace(x, labels)
    norms = layer_norms(trace.gradient_norms())
    statistics = {row.name: row for row in activation_statistics(trace)}
    logits = trace.logits()
    layers = []
    for name, norm in norms.items():
        params = net.layers[name].params
        key = next((key for key in ("W", "Wh", "E") if key in params), next(iter(params)))
        W = net.backend.to_host(params[key]).astype(np.float64)
        row = statistics.get(name)
        z = net.backend.to_host(logits[name]).astype(np.float64) if name in logits else None
        layers.append(
            {
                "name": name,
                "shape": list(W.shape),
                "logit_mean": None if z is None else float(z.mean()),
                "logit_std": None if z is None else float(z.std()),
                "neuron_std": row.neuron_std if row else None,
                "entropy": row.entropy if row else None,
                "theory_entropy": row.theory_entropy if row and not isnan(row.theory_entropy) else None,
                "saturated": row.saturated if row else None,
                "weight_frobenius": float(np.linalg.norm(W)),
                "weight_spectral": float(spectral_norms(W)[0]) if W.ndim == 2 else None,
                "gradient_norm": norm,
            }
        )
    try:
        bounds = vanishing_bounds(trace)
    except UsageError:  # an LSTM, or no hidden layer
        bounds = None
    return Inspection(layers, bounds)
