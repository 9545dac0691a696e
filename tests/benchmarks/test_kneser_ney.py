"""Kneser–Ney by its formulas, n-gram by n-gram in dictionaries."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.kneser_ney import FALLBACK, NONE, KneserNey

V = 7


@pytest.fixture(scope="module")
def text():
    """Tokens that depend on those before; the last of the alphabet never comes."""
    rng = np.random.default_rng(1)
    tokens = [0]
    for _ in range(1500):
        p = 1.0 / (1 + (np.arange(V - 1) - 2 * tokens[-1] - sum(tokens[-3:])) % (V - 1)) ** 2
        tokens.append(int(rng.choice(V - 1, p=p / p.sum())))
    return np.array(tokens)


class Naive:
    """The same from counts in dictionaries; each lower order counts the different tokens before an n-gram."""

    def __init__(self, tokens, order, modified):
        tokens = tuple(tokens.tolist())
        starts = range(len(tokens) - order + 1) if order > 1 else range(1, len(tokens))
        counts = Counter(tokens[i : i + order] for i in starts)
        self.counts = {}
        for k in range(order, 0, -1):
            self.counts[k] = counts
            counts = Counter(gram[1:] for gram in counts)
        self.discounts = {k: self.estimated(counts, modified) for k, counts in self.counts.items()}

    @staticmethod
    def estimated(counts, modified):
        n = Counter(counts.values())
        if not (n[1] and n[2] and n[3] and n[4]):
            return FALLBACK
        y = n[1] / (n[1] + 2 * n[2])
        found = tuple(j - (j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3)) if modified else (y, y, y)
        return found if all(0 < d < j for j, d in zip((1, 2, 3), found, strict=True)) else FALLBACK

    def p(self, w, h):
        """After the tokens h, as many as the order wants or fewer."""
        k = len(h) + 1
        lower = self.p(w, h[1:]) if h else 1 / V
        after = {v: self.counts[k][(*h, v)] for v in range(V) if self.counts[k][(*h, v)]}
        if not after:
            return lower
        taken = {v: self.discounts[k][min(count, 3) - 1] for v, count in after.items()}
        total = sum(after.values())
        return (after.get(w, 0) - taken.get(w, 0) + sum(taken.values()) * lower) / total


@pytest.mark.parametrize("modified", [True, False], ids=["modified", "plain"])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_probabilities_are_those_of_the_formulas_and_sum_to_one(text, order, modified):
    fast, naive = KneserNey(text, V, order, modified=modified), Naive(text, order, modified)
    rng = np.random.default_rng(2)
    seen = [text[i : i + length] for i in rng.integers(len(text) - 6, size=20) for length in (order - 1, 6)]
    drawn = [rng.integers(V, size=length) for length in (0, 1, 2, 4, 6) for _ in range(10)]
    for context in seen + drawn:
        found = fast.following(context)
        h = tuple(context[max(0, len(context) - order + 1) :].tolist())
        np.testing.assert_allclose(found, [naive.p(w, h) for w in range(V)], rtol=1e-12)
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert found.min() > 0


def test_bits_are_the_mean_over_all_tokens_but_the_first(text):
    model = KneserNey(text, V, 4)
    told = [-np.log2(model.following(text[:i])[text[i]]) for i in range(1, 200)]
    assert model.bits(text[:200]) == pytest.approx(np.mean(told))


def test_the_token_before_the_first_is_known_but_not_counted():
    model = KneserNey(np.array([0, 1, 1, 2, 1]), V, 1)
    assert model.levels[0].grams.tolist() == [1, 2]
    assert model.probabilities(np.array([[1]])) == pytest.approx((3 - 1.5 + (1.5 + 0.5) / V) / 4)


def test_a_lower_order_counts_what_stands_before():
    """2 comes often, but always after 1: on its own it is as rare as 3, which comes once."""
    model = KneserNey(np.array([0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 3, 0]), V, 2)
    unigram = model.probabilities(np.column_stack([np.full(V, NONE), np.arange(V)]))
    assert unigram[2] == unigram[3]


def test_an_order_that_does_not_fit_into_an_integer_is_refused():
    with pytest.raises(ValueError, match="order 40"):
        KneserNey(np.zeros(50, np.int64), 69, 40)
