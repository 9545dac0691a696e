"""How well a language model would have guessed a text: −ln p of every token, the state carried through all of it."""

from collections.abc import Iterator
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minisig.data.prepared import Noticed, TextInputs
from minisig.data.sequences import Text
from minisig.errors import Diverged, UsageError
from minisig.network import Network, States
from minisig.training.evaluate import evaluate

HIGHEST = 700.0  # of a loss whose exponential is a float


def score(net: Network, text: TextInputs, content: str | bytes, noticed: Noticed | None = None) -> dict[str, Any]:
    """Perplexity of a text, and the tokens it has, as at the end of training."""
    part = _part(net, text, content, noticed)
    with np.errstate(over="ignore", invalid="ignore"):
        found = evaluate(net, part)
    _require_finite(found["loss"])
    scored = {"perplexity": found["perplexity"], "loss": found["loss"], "tokens": len(part.tokens) - 1}
    return scored | ({"bits": found["loss"] / log(2)} if text.tokens != "words" else {})


def score_lines(net: Network, text: TextInputs, content: str | bytes) -> Iterator[dict[str, Any]]:
    """The same line by line, the state carried on from the lines before; lines without a token are left out."""
    part = _part(net, text, content, None)
    with np.errstate(over="ignore", invalid="ignore"):
        losses = np.concatenate(list(_losses(net, part)))
    _require_finite(losses)
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


def _require_finite(losses: Any) -> None:
    if not np.isfinite(losses).all():
        raise Diverged("the network's logits are not finite: its parameters are too large")


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
