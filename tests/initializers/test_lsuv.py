"""LSUV: unit variance of a data batch's logits, from orthonormal weights and nothing else."""

import numpy as np
import pytest

from minisig import mlp
from minisig.errors import UsageError
from minisig.initializers.inputs import SAMPLE

SIZES = [64, 100, 80, 120, 10]


@pytest.fixture(scope="module", params=["sigmoid", "scaled-tanh"])
def net(request, digits):
    return mlp(SIZES, init="lsuv", x=digits.train.x, activation=request.param, dtype="float64")


def test_every_layers_pooled_logit_variance_is_one(net, digits):
    outputs = net.trace(digits.train.x[:SAMPLE], digits.train.y[:SAMPLE]).outputs
    variances = [outputs[f"dense{i}"].var() for i in range(4)]
    assert variances == pytest.approx([1] * 4, rel=1e-12)  # one division, of which nothing but rounding is left


def test_biases_stay_zero(net):
    assert all(not net.params[f"dense{i}.b"].any() for i in range(4))


def test_weights_are_a_multiple_of_orthonormal_ones(net):
    for i in range(4):
        W = net.params[f"dense{i}.W"]
        gram = W.T @ W if W.shape[0] >= W.shape[1] else W @ W.T
        np.testing.assert_allclose(gram, gram[0, 0] * np.eye(len(gram)), atol=1e-12 * gram[0, 0])


def test_without_data_it_says_what_to_pass():
    with pytest.raises(UsageError, match=r"lsuv scales the logits of a data batch: pass one, .*x=x_train"):
        mlp(SIZES, init="lsuv")


def test_data_without_variance_leave_the_weights_orthonormal():
    W = mlp([5, 3, 2], init="lsuv", x=np.zeros((10, 5)), dtype="float64").params["dense0.W"]
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-13)


def test_the_account_states_the_target(net):
    assert [(row.target.mean, row.target.std) for row in net.account.layers] == [(None, 1.0)] * 4
