"""A trained language model at work: it goes on with a text, and says how well it would have guessed one.

sample      token by token, each drawn from softmax(z / temperature), cut down by top_k and top_p
score       −ln p of every token, with the state carried through the whole text, as at the end of training
"""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minisig.data.prepared import Noticed, TextInputs
from minisig.data.sequences import STEPS_AT_A_TIME, Text
from minisig.errors import UsageError
from minisig.network import Network, States
from minisig.seeds import stream
from minisig.training.evaluate import evaluate

HIGHEST = 700.0  # of a loss whose exponential is a float


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
    for start in range(0, len(x), STEPS_AT_A_TIME):  # of a long prompt not all logits at once
        z, states = net.advance(x[start : start + STEPS_AT_A_TIME], states)
    return net.backend.to_host(z)[-1, 0], states


def score(net: Network, text: TextInputs, content: str | bytes, noticed: Noticed | None = None) -> dict[str, Any]:
    """Perplexity of a text, and the tokens it has, as at the end of training."""
    part = _part(net, text, content, noticed)
    found = evaluate(net, part)
    scored = {"perplexity": found["perplexity"], "loss": found["loss"], "tokens": len(part.tokens) - 1}
    return scored | ({"bits": found["loss"] / log(2)} if text.tokens != "words" else {})


def score_lines(net: Network, text: TextInputs, content: str | bytes) -> Iterator[dict[str, Any]]:
    """The same line by line, the state carried on from the lines before; lines without a token are left out."""
    part = _part(net, text, content, None)
    losses = np.concatenate(list(_losses(net, part)))
    ends = _ends(text, part.tokens[1:])
    start = 0
    for end in ends:
        own = losses[start:end]
        yield {
            "text": text.decode(net.backend.to_host(part.tokens)[1 + start : 1 + end].tolist()).strip("\n"),
            "tokens": len(own),
            "perplexity": exp(min(float(own.mean()), HIGHEST)),
        }
        start = end


def _part(net: Network, text: TextInputs, content: str | bytes, noticed: Noticed | None) -> Text:
    tokens = text.encode(content, noticed)
    if not len(tokens):
        raise UsageError("there is no text to score: it is empty")
    return Text(np.concatenate([[text.start], tokens]), steps=1).on(net.backend.xp)


def _losses(net: Network, part: Text) -> Iterator[NDArray[Any]]:
    states: States = {}
    for batch in part.windows():
        z, states = net.advance(batch.x, states)
        losses, _ = net.loss.rows(z.reshape(-1, z.shape[-1]), batch.labels.reshape(-1), net.backend)
        yield net.backend.to_host(losses).astype(np.float64)


def _ends(text: TextInputs, tokens: NDArray[np.int64]) -> list[int]:
    """Where lines end."""
    ends: list[int] = (np.flatnonzero(tokens == text.start) + 1).tolist()
    return ends if ends and ends[-1] == len(tokens) else [*ends, len(tokens)]
