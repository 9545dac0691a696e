"""A language model writes: token by token, each drawn from softmax(z / temperature), cut down by top_k and top_p."""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minisig.data.prepared import Noticed, TextInputs
from minisig.data.sequences import STEPS_AT_A_TIME
from minisig.errors import Diverged, UsageError
from minisig.losses import Weighted, WeightedTargets
from minisig.network import Network, States
from minisig.seeds import stream

WHILE_TRAINING = 160  # tokens that are written at every validation


@dataclass(frozen=True)
class Drawing:
    """How tokens are drawn."""

    temperature: float = 1.0  # 0 takes the most probable one
    top_k: int | None = None  # of so many of the most probable
    top_p: float | None = None  # of the most probable that have this share together

    def __post_init__(self) -> None:
        if not (np.isfinite(self.temperature) and self.temperature >= 0):
            raise UsageError(f"temperature: expected a number that is not negative, got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise UsageError(f"top_k: expected at least 1, got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise UsageError(f"top_p: expected a share above 0, at most 1, got {self.top_p}")

    def probabilities(self, z: NDArray[Any]) -> NDArray[np.float64]:
        """Of every token (V,), from its logit."""
        z = z.astype(np.float64)
        if self.temperature == 0:
            sure = np.zeros(len(z))
            sure[z.argmax()] = 1.0
            return sure
        order = np.argsort(-z, kind="stable")
        with np.errstate(over="ignore"):  # e^−∞ is 0
            p = np.exp((z[order] - z[order[0]]) / self.temperature)
        p /= p.sum()
        if self.top_k is not None:
            p[self.top_k :] = 0
        if self.top_p is not None:
            p[1:][np.cumsum(p / p.sum())[:-1] >= self.top_p] = 0
        found = np.zeros(len(z))
        found[order] = p / p.sum()
        return found

    def token(self, z: NDArray[Any], rng: np.random.Generator) -> int:
        p = np.cumsum(self.probabilities(z))
        return int(min(np.searchsorted(p, rng.random() * p[-1], side="right"), len(p) - 1))


def sample(
    net: Network,
    text: TextInputs,
    prompt: str,
    length: int,
    drawing: Drawing,
    seed: int,
    noticed: Noticed | None = None,
) -> Iterator[str]:
    """What the network writes after the prompt, piece by piece, so many tokens."""
    rng = stream(seed, "sample")
    utf8 = getincrementaldecoder("utf-8")("replace")
    apart = bool(prompt) and not prompt[-1].isspace()  # the next word, from the one before
    z, states = step(net, [text.start, *text.begin(prompt, noticed).tolist()], {})
    for _ in range(length):
        token = drawing.token(z, rng)
        if text.tokens == "bytes":
            yield utf8.decode(bytes([token]))  # nothing before the character is whole
        else:
            piece = text.decode([token])
            yield f" {piece}" if text.tokens == "words" and apart and piece != "\n" else piece
            apart = piece != "\n"
        z, states = step(net, [token], states)
    yield utf8.decode(b"", final=True)


def step(net: Network, tokens: list[int], states: States) -> tuple[NDArray[Any], States]:
    """The logits of the token after these, (V,), and the states after them."""
    x = net.backend.xp.asarray(np.array(tokens, np.int64)[:, None])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(x), STEPS_AT_A_TIME):  # of a long prompt not all logits at once
            z, states = net.advance(x[start : start + STEPS_AT_A_TIME], states)
    last = net.backend.to_host(z)[-1, 0]
    if not np.isfinite(last).all():
        raise Diverged("the network's logits are not finite: its parameters are too large")
    return last, states


def written(net: Network, text: TextInputs) -> str:
    """What it writes now, the same draw at every time."""
    return "".join(sample(net, text, "", WHILE_TRAINING, Drawing(0.7), seed=0))


def looked_at(net: Network, tokens: Any) -> NDArray[np.float64]:
    """‖∂L/∂x_t‖ for every token x_t (T,), L the loss of guessing the last of tokens (T + 1,) from all before it."""
    x, labels = tokens[:-1, None], tokens[1:, None]
    last = np.zeros(x.shape)
    last[-1] = x.size  # the loss is a mean over all of them
    twin = Network(net.layers, net.backend, loss=Weighted(net.loss))
    trace = twin.trace(x, WeightedTargets(labels, last))
    first = next(name for name, layer in net.layers.items() if getattr(layer, "takes_tokens", False))
    dx = net.backend.to_host(trace.deltas[first]).astype(np.float64)
    found: NDArray[np.float64] = np.sqrt((dx**2).sum(axis=(1, 2)))
    return found
