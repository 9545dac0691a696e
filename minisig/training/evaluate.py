"""Loss and error of a network on a whole part of the data."""

from dataclasses import dataclass

from minisig.data import Split
from minisig.network import Network

CHUNK = 1000  # rows at a time, to bound the memory


@dataclass(frozen=True)
class Score:
    loss: float  # mean cross-entropy
    error: float  # percent wrong


def evaluate(net: Network, split: Split) -> Score:
    """Mean loss and percent of errors, dropout off."""
    loss = wrong = 0.0
    for start in range(0, len(split.x), CHUNK):
        labels = split.y[start : start + CHUNK]
        z = net.forward(split.x[start : start + CHUNK])
        loss += float(net.backend.softmax_cross_entropy(z, labels)[0].sum(dtype="float64"))
        wrong += int((z.argmax(axis=1) != labels).sum())
    return Score(loss / len(split.x), 100 * wrong / len(split.x))
