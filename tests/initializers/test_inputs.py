"""What an initializer is told of the data."""

import numpy as np
import pytest

from minisig import mlp
from minisig.errors import UsageError
from minisig.initializers.inputs import SAMPLE, Inputs


@pytest.mark.parametrize(("constant", "rows"), [(0.1, 7), (0.7, 50), (255.3, 999)])
def test_a_constant_has_no_variance_not_even_of_rounding(constant, rows):
    x = np.full((rows, 3), constant)
    assert not Inputs.measured(x).variance.any()
    with pytest.raises(UsageError, match="all inputs are constant"):
        mlp([3, 4, 2], x=x)
    x[0, 1] += 1.0
    assert Inputs.measured(x.tolist()).variance.nonzero()[0] == [1]


@pytest.mark.parametrize("init", ["random+ep", "lsuv", "lecun"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e300])
def test_data_without_a_variance_are_refused_by_their_column(init, wrong):
    x = np.random.default_rng(0).normal(size=(SAMPLE + 10, 6))
    x[-1, 3] = wrong  # after the rows that are kept
    with pytest.raises(UsageError, match=r"in column 3: remove"):
        mlp([6, 5, 2], init=init, x=x)
    x[2:4, 4:] = np.inf, wrong
    with pytest.raises(UsageError, match=r"in column 3 and 2 more: remove"):
        mlp([6, 5, 2], init=init, x=x)


@pytest.mark.parametrize("x", [[[1.0, 2.0], [3.0]], [["a", "b"]]], ids=["ragged", "words"])
def test_data_that_are_no_numbers_are_refused(x):
    with pytest.raises(UsageError, match=r"expected data x \(N, n\) that are numbers"):
        mlp([2, 3, 2], x=x)


def test_a_weight_counts_in_mean_and_variance_like_rows_repeated():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(3, 2, size=(SAMPLE + 200, 4)), rng.integers(1, 6, SAMPLE + 200).astype(float)
    x[:, 2] = 0.1
    weighted = Inputs.measured(x, weights / 7)
    repeated = Inputs.measured(x.repeat(weights.astype(int), axis=0))
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-12)
    np.testing.assert_allclose(weighted.variance, repeated.variance, rtol=1e-12)
    assert weighted.variance[2] == 0
    assert weighted.mean[0] != pytest.approx(x[:, 0].mean(), rel=1e-6)


def test_a_network_takes_inputs_that_were_measured_already():
    x = np.random.default_rng(0).normal(3, 2, size=(50, 4))
    ours, same = mlp([4, 5, 2], x=Inputs.measured(x)), mlp([4, 5, 2], x=x)
    for name, w in same.params.items():
        np.testing.assert_array_equal(ours.params[name], w)
    assert ours.account == same.account
