"""minisig theory: the numbers of one neuron, for people and for programs."""

from functools import partial
from math import pi, sqrt

import pytest

from minisig import theory as ms
from minisig.cli.theory import ROWS
from tests.cli.command import cli, strict

NEURONS = [(0.0, None), (0.0, 1.7488), (1.0, None), (-2.5, 0.7), (3.0, 4.0), (0.0, 0.01)]
cli = partial(cli, "theory")


def options(mu, sigma):
    return ["--mu", mu, *([] if sigma is None else ["--sigma", sigma])]


def expected(mu, sigma):
    if sigma is None:
        sigma = ms.best_sigma(mu)
    return {
        "mu": mu,
        "sigma": sigma,
        "best_sigma": ms.best_sigma(mu),
        "exact_best_sigma": ms.exact_best_sigma(mu),
        "entropy": ms.entropy(mu, sigma),
        "surrogate": ms.surrogate(mu, sigma),
        "lower_bound": ms.surrogate(mu, sigma) - 1.3862943611198906,  # 2 ln 2
        "output_mean": ms.output_mean(mu, sigma),
        "output_variance": ms.output_variance(mu, sigma),
        "row_norm": ms.row_norm(mu, sigma),
        "mean_derivative": ms.expectation(ms.derivative, mu, sigma),
        "mean_squared_derivative": ms.expectation(lambda z: ms.derivative(z) ** 2, mu, sigma),
        "gain": ms.gain(mu, sigma),
        "depth_scale": ms.depth_scale(mu, sigma),
        "critical_width": ms.critical_width(mu, sigma),
    }


@pytest.mark.parametrize(("mu", "sigma"), NEURONS)
def test_json_has_the_numbers_of_the_theory(mu, sigma):
    result = cli(*options(mu, sigma), "--json")
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (0, "", 1)
    assert strict(result.stdout) == pytest.approx(expected(mu, sigma), rel=1e-8)


@pytest.mark.parametrize(("mu", "sigma"), NEURONS)
def test_people_read_every_number_that_programs_do(mu, sigma):
    result = cli(*options(mu, sigma))
    assert (result.exit_code, result.stderr) == (0, "")
    values = [float(line.split()[-1]) for line in result.stdout.splitlines()]
    assert values == pytest.approx(list(expected(mu, sigma).values()), rel=1e-8, abs=1e-9)
    assert all(line.startswith(words) for line, words in zip(result.stdout.splitlines(), ROWS.values(), strict=True))
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_without_options_it_is_the_optimum_of_the_paper():
    numbers = strict(cli("--json").stdout)
    assert (numbers["mu"], numbers["output_mean"]) == (0, pytest.approx(0.5, abs=1e-12))
    assert numbers["sigma"] == numbers["best_sigma"] == pytest.approx(sqrt(pi / 2), rel=1e-12)
    assert numbers["exact_best_sigma"] == pytest.approx(1.7488, abs=5e-5)
    assert numbers["lower_bound"] < numbers["entropy"] < numbers["surrogate"]


@pytest.mark.parametrize("sigma", ["0", "-1", "-0.0", "nan", "inf", "-inf", "wide", ""])
def test_a_sigma_that_is_no_deviation_is_refused(sigma):
    result = cli("--sigma", sigma)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "sigma" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("mu", ["nan", "inf", "-inf", "left", ""])
def test_a_mu_that_is_no_number_is_refused(mu):
    result = cli("--mu", mu)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--mu" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "args",
    [
        *(["--sigma", value] for value in ("1e-300", "1e-100", "1e-10", "1e3", "1e10", "1e160", "1e300")),
        *(["--mu", value] for value in ("50", "-50", "1e3", "1e10", "1e160", "1e308", "-1e308")),
        ["--mu", "100", "--sigma", "0.001"],
    ],
    ids=" ".join,
)
def test_an_extreme_neuron_gives_numbers_or_one_line_that_blames_the_option_given(args):
    """And no warning: those are errors in these tests."""
    result = cli(*args, "--json")
    if result.exit_code == 0:
        assert strict(result.stdout).keys() == ROWS.keys()
        return
    assert (result.exit_code, result.stdout) == (2, "")
    assert args[0].lstrip("-") in result.stderr.splitlines()[-1]
