"""Where NaN or infinity appeared first."""

from minisig.backends import Array
from minisig.network import Network
from minisig.trace import Trace


def first_not_finite(net: Network, trace: Trace | None = None) -> str | None:
    """The first place on the way of the data, forward and then backward, and else among the parameters.

    A trace shows what the parameters did before they were updated with it.
    """

    def broken(values: Array) -> bool:
        return not bool(net.backend.xp.isfinite(values).all())

    if trace is not None:
        for name, y in trace.outputs.items():
            if broken(y):
                return f"the output of {name}"
        for name, delta in reversed(list(trace.deltas.items())):
            if broken(delta):
                return f"the gradient that reaches {name}"
    return next((name for name, w in net.params.items() if broken(w)), None)
