"""All the numbers of one neuron; tests/cli/test_theory.py has each against its own function."""

import numpy as np
import pytest

from minisig.errors import UsageError
from minisig.theory import best_sigma
from minisig.theory.describe import describe


def test_describe_takes_the_best_sigma_unless_told_another():
    numbers = describe(1.0)
    assert numbers["sigma"] == numbers["best_sigma"] == best_sigma(1.0)
    assert numbers["surrogate"] - numbers["lower_bound"] == pytest.approx(2 * np.log(2))
    assert numbers["lower_bound"] < numbers["entropy"] < numbers["surrogate"]
    assert numbers["gain"] == pytest.approx(numbers["row_norm"] ** 2 * numbers["mean_squared_derivative"])
    assert describe(1.0, 3.0)["sigma"] == 3.0
    assert all(type(value) is float for value in numbers.values())


def test_the_best_sigmas_depend_on_mu_alone():
    one, other = describe(1.0, 0.5), describe(1.0, 3.0)
    for name in ("best_sigma", "exact_best_sigma"):
        assert one[name] == other[name] != describe(2.0, 0.5)[name]


def test_where_the_variance_underflows_what_is_divided_by_it_is_no_number_and_no_warning():
    numbers = describe(1000.0, 1.0)
    assert numbers["output_variance"] == numbers["mean_squared_derivative"] == 0
    assert not np.isfinite([numbers["row_norm"], numbers["gain"]]).any()
    assert np.isfinite([numbers[name] for name in ("entropy", "surrogate", "output_mean", "best_sigma")]).all()


@pytest.mark.parametrize(
    ("neuron", "message"),
    [
        ((1e5,), "mu must lie"),
        ((1e200,), "mu must lie"),
        ((np.nan, 1.0), "mu must lie"),
        ((0.0, 1e9), "sigma must lie"),
        ((0.0, 0.0), "sigma"),
    ],
)
def test_a_neuron_out_of_reach_is_refused(neuron, message):
    with pytest.raises(UsageError, match=message):
        describe(*neuron)
