"""Interpolated Kneser–Ney over tokens (Chen & Goodman 1999, section 4.1.6), what a network has to beat.

    p_k(w | h) = max(c(hw) − D(c(hw)), 0) / c(h) + γ(h) p_{k−1}(w | h without its first),   p_0(w) = 1 / V
    γ(h)       = Σ_w D(c(hw)) / c(h)

c counts occurrences at the highest order, and at all others the different tokens seen before. D is a number for each of
the counts 1, 2 and 3 or more ("modified"), or one for all of them, estimated from how many n-grams have the counts 1 to
4. After an h that was never seen, p_k = p_{k−1}.

An n-gram is one integer, its tokens the digits in base V, so that h is gram // V, and all counts are sorted arrays.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]
Matrix = NDArray[np.float64]

FALLBACK = (0.5, 1.0, 1.5)  # where there are too few n-grams to estimate from
NONE = -1  # in the place of a token before the first


class Level(NamedTuple):
    """The n-grams of one length, and of every h the sums that p_k needs."""

    grams: Tokens  # sorted
    counts: Tokens
    heads: Tokens  # sorted
    totals: Matrix  # c(h)
    discounted: Matrix  # γ(h) c(h)
    discounts: Matrix  # D of the counts 0, 1, 2 and 3 or more


class KneserNey:
    def __init__(self, tokens: Tokens, size: int, order: int, *, modified: bool = True) -> None:
        """From a text whose first token is given and not predicted, over tokens from 0 to size − 1."""
        if not 1 <= order <= 62 / np.log2(size):
            raise ValueError(f"order {order}: n-grams of {size} tokens do not fit into 63 bits")
        self.size, self.order = size, order
        self.levels: list[Level] = []
        grams = _grams(tokens, size, order) if order > 1 else tokens[1:]
        found, counts = np.unique(grams, return_counts=True)
        for k in range(order, 0, -1):
            self.levels.insert(0, _level(found, counts, size, modified))
            found, counts = np.unique(found % size ** (k - 1), return_counts=True)

    def probabilities(self, rows: Tokens) -> Matrix:
        """p of the last token of every row (N, order) after those before it; a row may begin with NONE."""
        p = np.full(len(rows), 1 / self.size)
        gram = np.zeros(len(rows), np.int64)
        for k, level in enumerate(self.levels, 1):
            gram = gram + np.where(rows[:, -k] == NONE, 0, rows[:, -k]) * self.size ** (k - 1)
            head = np.minimum(np.searchsorted(level.heads, gram // self.size), len(level.heads) - 1)
            seen = (level.heads[head] == gram // self.size) & (rows[:, -k] != NONE)
            place = np.minimum(np.searchsorted(level.grams, gram), len(level.grams) - 1)
            count = np.where(level.grams[place] == gram, level.counts[place], 0)
            kept = count - level.discounts[np.minimum(count, 3)]
            p = np.where(seen, (kept + level.discounted[head] * p) / level.totals[head], p)
        return p

    def following(self, context: Tokens) -> Matrix:
        """p of every token (V,) after these."""
        before = np.concatenate([np.full(self.order, NONE), context])[len(context) + 1 :]
        return self.probabilities(np.column_stack([np.tile(before, (self.size, 1)), np.arange(self.size)]))

    def bits(self, tokens: Tokens) -> float:
        """−log₂ p of a token on average, the first of the text given."""
        padded = np.concatenate([np.full(self.order - 1, NONE), tokens])
        rows = np.lib.stride_tricks.sliding_window_view(padded, self.order)[1:]
        return float(-np.log2(self.probabilities(rows)).mean())


def _grams(tokens: Tokens, size: int, k: int) -> Tokens:
    powers = size ** np.arange(k - 1, -1, -1, dtype=np.int64)
    found: Tokens = np.lib.stride_tricks.sliding_window_view(tokens, k) @ powers
    return found


def _level(grams: Tokens, counts: Tokens, size: int, modified: bool) -> Level:
    discounts = _discounts(counts, modified)
    heads, group = np.unique(grams // size, return_inverse=True)
    totals, discounted = (
        np.bincount(group, weights).astype(np.float64) for weights in (counts, discounts[np.minimum(counts, 3)])
    )
    return Level(grams, counts, heads, totals, discounted, discounts)


def _discounts(counts: Tokens, modified: bool) -> Matrix:
    n1, n2, n3, n4 = (int((counts == c).sum()) for c in (1, 2, 3, 4))
    found = FALLBACK
    if n1 and n2 and n3 and n4:
        y = n1 / (n1 + 2 * n2)
        estimated = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3) if modified else (y, y, y)
        if all(0 < d < c for c, d in enumerate(estimated, 1)):
            found = estimated
    return np.array([0.0, *found])
