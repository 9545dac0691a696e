"""How well a network does on a whole part of the data, every example counted once."""

from math import exp

from minisig.data import Part, Split
from minisig.gradients import rows
from minisig.losses import require_labels
from minisig.network import Network, States


class Score(dict[str, float]):
    """Metrics by name, which are attributes too.

    loss        mean cross-entropy of all predictions
    error       percent of them that are wrong
    recall      percent right of those that had to be remembered, if any had to
    """

    def __getattr__(self, name: str) -> float:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a score of {', '.join(self)} has no {name}") from None

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
    score = Score(loss=loss / count, error=100 * wrong / count)
    return Score(score, recall=100 * recalled / asked) if asked else score


def reported(score: Score, part: Part) -> Score:
    """What a summary tells of a score: of sequences the perplexity in place of the error."""
    if isinstance(part, Split):
        return score
    others = {name: value for name, value in score.items() if name not in ("loss", "error")}
    return Score({"loss": score.loss, "perplexity": score.perplexity} | others)
