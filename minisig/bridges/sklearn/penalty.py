"""The L2 penalty of scikit-learn's MLPs: the larger the batch, the less it counts.

loss    L + α/2 Σ ‖W‖² / B          over the weight matrices, not the biases; B examples in the batch
dW      + α W / B
"""

from dataclasses import replace
from typing import Any

from minisig.gradients import Evaluated
from minisig.network import Network
from minisig.trace import Trace


class Penalized(Network):
    """A network as it is trained with `alpha`: its traces have the penalty in the loss and in the gradients."""

    def __init__(self, net: Network, alpha: float) -> None:
        super().__init__(net.layers, net.backend, net.account, net.loss)  # the same layers: one trains both
        self.alpha = alpha

    def trace(self, x: Any, *args: Any, **kwargs: Any) -> Trace:
        trace = super().trace(x, *args, **kwargs)
        share = self.alpha / len(trace.x)
        loss, gradients = trace.loss, dict(trace.gradients)
        for name, W in self.params.items():
            if W.ndim == 2:
                loss = loss + share / 2 * (W * W).sum()
                dW = gradients[name].dense(self.backend)
                dW += share * W
                gradients[name] = Evaluated(dW)
        return replace(trace, loss=loss, gradients=gradients)
