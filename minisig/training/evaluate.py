"""How well a network does on a whole part of the data, every example counted once."""

from dataclasses import dataclass
from math import exp

from minisig.data import Part
from minisig.gradients import rows
from minisig.losses import require_labels
from minisig.network import Network, States


@dataclass(frozen=True)
class Score:
    loss: float  # mean cross-entropy of all predictions
    error: float  # percent of them that are wrong
    recall: float | None = None  # percent right of those that had to be remembered, if any had to

    @property
    def perplexity(self) -> float:
        return exp(min(self.loss, 700.0))  # the largest there is is e^709


def evaluate(net: Network, part: Part) -> Score:
    """Dropout off; the state of recurrent layers is carried through where the data go on."""
    loss, wrong, count = 0.0, 0, 0
    recalled, asked = 0, 0
    states: States = {}
    for batch in part.windows():
        z, states = net.advance(batch.x, {} if batch.fresh else states)
        labels = net.backend.xp.asarray(batch.labels)
        require_labels(z, labels, net.backend)
        loss += float(net.backend.softmax_cross_entropy(rows(z), labels.reshape(-1))[0].sum(dtype="float64"))
        right = z.argmax(axis=-1) == labels
        wrong += int((~right).sum())
        count += right.size
        if batch.recall is not None:
            recalled += int(right[batch.recall].sum())
            asked += right[batch.recall].size
    return Score(loss / count, 100 * wrong / count, 100 * recalled / asked if asked else None)
