"""How well a network does on a whole part: every example counted once, the state carried through a text."""

import numpy as np
import pytest

from minisig.data import Split
from minisig.errors import UsageError
from minisig.network import mlp, recurrent
from minisig.training.evaluate import evaluate


def test_evaluation_in_pieces_is_evaluation_of_the_whole(digits):
    net = mlp([64, 20, 20, 10], x=digits.train.x)
    z = net.forward(digits.train.x).astype(float)
    losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), digits.train.y]
    score = evaluate(net, digits.train)  # 1,197 rows: two pieces
    assert score.loss == pytest.approx(losses.mean(), rel=1e-6)
    assert score.error == pytest.approx(100 * (z.argmax(axis=1) != digits.train.y).mean())


def test_evaluation_carries_the_state_through_the_whole_text(text):
    net = recurrent(7, [12], dtype="float64")
    tokens = text.test.tokens
    z = net.forward(tokens[:-1, None])[:, 0]  # in one window of a thousand steps
    losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(1000), tokens[1:]]
    score = evaluate(net, text.test)  # in windows of five hundred
    assert score.loss == pytest.approx(losses.mean(), rel=1e-12)
    assert score.perplexity == pytest.approx(np.exp(losses.mean()))
    assert "recall" not in score


def test_a_uniform_models_perplexity_is_the_vocabulary(text):
    net = recurrent(7, [12], dtype="float64")
    net.params["dense.W"][...] = 0
    net.params["dense.b"][...] = 0
    assert evaluate(net, text.test).perplexity == pytest.approx(7, rel=1e-12)


def test_labels_that_are_no_classes_are_refused(digits):
    with pytest.raises(UsageError, match="expected labels that are integers from 0 to 2, got"):
        evaluate(mlp([64, 3]), Split(digits.test.x, digits.test.y))
