"""How well a network does on a whole part of the data, every example counted once."""

from typing import Any

from minisig.data import Part
from minisig.losses import Score
from minisig.network import Network, States


def evaluate(net: Network, part: Part) -> Score:
    """The loss and its metrics by name, dropout off; recurrent states are carried through where the data go on."""
    sums: dict[str, Any] = {}
    states: States = {}
    for batch in part.windows():
        z, states = net.advance(batch.x, {} if batch.fresh else states)
        for name, value in net.loss.tally(z, batch.labels, net.backend, batch.recall).items():
            sums[name] = sums.get(name, 0) + value
    return net.loss.score(sums)
