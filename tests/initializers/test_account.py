"""The account of an initialization: what it says is what the network does."""

import numpy as np
import pytest
from scipy.integrate import quad

from minisig import mlp
from minisig.activations import ACTIVATIONS, Sigmoid
from minisig.initializers import INITIALIZERS, Inputs, Target
from minisig.initializers.account import STEEP, account_for
from minisig.initializers.inputs import SAMPLE

LOGISTICS = [name for name in ACTIVATIONS if ACTIVATIONS[name].logistic]
OTHERS = [name for name in ACTIVATIONS if name not in LOGISTICS]


def logits(net, x):
    outputs = net.trace(x, np.zeros(len(x), dtype=int)).outputs
    return [outputs[row.layer] for row in net.account.layers]


@pytest.mark.parametrize("init", INITIALIZERS)
@pytest.mark.parametrize("activation", LOGISTICS)
def test_measured_numbers_are_those_of_the_networks_own_logits(init, activation, digits):
    net = mlp([64, 50, 40, 10], init=init, x=digits.train.x, activation=activation, dtype="float64")
    assert [row.shape for row in net.account.layers] == [(64, 50), (50, 40), (40, 10)]
    for row, z in zip(net.account.layers, logits(net, digits.train.x[:SAMPLE]), strict=True):
        own = np.sqrt(np.mean([neuron.var() for neuron in z.T]))
        assert (row.mean, row.std, row.neuron_std) == pytest.approx((z.mean(), z.std(), own), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("init", ["random+ep", "lecun", "glorot", "ortho"])
@pytest.mark.parametrize("activation", LOGISTICS)
def test_predicted_numbers_are_those_of_standard_normal_inputs(init, activation):
    N, n = 4000, 100
    net = mlp([n, 300, 300, 10], init=init, activation=activation, dtype="float64")
    x = np.random.default_rng(1).standard_normal((N, n))
    for row, z in zip(net.account.layers, logits(net, x), strict=True):
        own = np.sqrt(z.var(axis=0).mean())
        # Neurons that look at the same n inputs have correlations of 1/√n, which the prediction leaves out: a
        # standard deviation is off by 1/√(2n) for one neuron and, over the m neurons of a layer, by 1/√(2nm).
        tolerance = 4 / np.sqrt(2 * n * z.shape[1])
        assert row.mean == pytest.approx(z.mean(), abs=4 * own / np.sqrt(N))
        assert row.std == pytest.approx(z.std(), rel=tolerance)
        assert row.neuron_std == pytest.approx(own, rel=tolerance)


@pytest.mark.parametrize("init", ["lsuv", "glorot"])
@pytest.mark.parametrize("activation", OTHERS)
def test_of_other_activations_too_measured_numbers_are_the_networks_own(init, activation, digits):
    net = mlp([64, 50, 40, 10], init=init, x=digits.train.x, activation=activation, dtype="float64")
    for row, z in zip(net.account.layers, logits(net, digits.train.x[:SAMPLE]), strict=True):
        assert (row.mean, row.std) == pytest.approx((z.mean(), z.std()), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("mu", [-1.5, 0.0, 0.7])
@pytest.mark.parametrize("activation", OTHERS)
def test_moments_of_other_activations_are_those_of_a_quadrature_to_a_thousandth(activation, mu, sigma):
    weights = [(np.ones((1, 1)), np.zeros(1))] * 2
    f = ACTIVATIONS[activation]()
    _, row = account_for("ones", weights, Inputs(np.array([mu]), np.array([sigma**2])), f, Target()).layers

    def expected(h):
        def integrand(t):
            return h(float(f.value(np.array(mu + sigma * t)))) * np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)

        return quad(integrand, -9, 9, points=[-mu / sigma] if abs(mu) < 9 * sigma else None, limit=200)[0]

    mean = expected(lambda y: y)
    std = np.sqrt(expected(lambda y: (y - mean) ** 2))
    assert (row.mean, row.neuron_std) == pytest.approx((mean, std), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("init", ["lecun", "glorot", "ortho"])
def test_a_signal_that_has_vanished_is_still_accounted_for(init):
    rows = mlp([20, *[20] * 100, 5], init=init).account.layers
    assert np.isfinite([(row.mean, row.std) for row in rows]).all()
    # g′ ≤ 1/4 and columns of length about 1 leave a quarter a layer, 4^−100 in all, down to what float64 resolves.
    assert all(0 <= row.neuron_std < max(2 * 0.3**i, 1e-15) for i, row in enumerate(rows))


@pytest.mark.parametrize(
    ("mean", "variance", "seen"),
    [
        (1e9, 1.0, (1.0, 0.0)),
        (-1e9, 1.0, (0.0, 0.0)),
        (0.0, 1e18, (0.5, 0.25)),
        (1e9, 1e18, (0.8413, 0.1335)),  # Φ(1), Φ(1) Φ(−1)
    ],
)
def test_enormous_inputs_give_activities_of_zero_and_one(mean, variance, seen):
    m = 3  # neurons: each repeats the input, and one above adds them up
    weights = [(np.ones((1, m)), np.zeros(m)), (np.ones((m, 1)), np.zeros(1))]
    inputs = Inputs(np.array([mean]), np.array([variance]))
    first, second = account_for("ones", weights, inputs, Sigmoid(), Target()).layers
    assert (first.mean, first.neuron_std) == (mean, np.sqrt(variance))
    # Of logits of standard deviation STEEP, a share of order 1/STEEP still lies between 0 and 1.
    found = second.mean / m, second.neuron_std**2 / m
    assert found == pytest.approx(seen, abs=1 / STEEP)


def test_printing_shows_every_layer_with_its_target(digits):
    net = mlp([64, 50, 40, 10], init="random+ep", x=digits.train.x)
    title, header, *lines = str(net.account).splitlines()
    assert title == f"random+ep: logits, measured on {SAMPLE} inputs"
    assert "target std" in header
    for line, row in zip(lines, net.account.layers, strict=True):
        assert line.split() == [
            row.layer,
            "{}→{}".format(*row.shape),
            "0.000",
            f"{row.mean:.3f}",
            "1.253",
            f"{row.std:.3f}",
            f"{row.neuron_std:.3g}",
        ]


def test_printing_leaves_open_targets_open_and_says_that_numbers_are_predicted():
    text = str(mlp([64, 50, 10], init="lecun").account)
    assert "lecun: logits, predicted for independent inputs" in text
    assert all(line.split()[2] == line.split()[4] == "–" for line in text.splitlines()[2:])


def test_inputs_are_measured_in_float64_on_all_rows():
    x = np.random.default_rng(0).normal(1000, 0.1, (2 * SAMPLE + 345, 3)).astype(np.float32)
    x[SAMPLE:] += 1  # so that the first rows alone would mislead
    inputs = Inputs.measured(x)
    np.testing.assert_allclose(inputs.mean, x.astype(np.float64).mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(inputs.variance, x.astype(np.float64).var(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(inputs.sample, x[:SAMPLE])
