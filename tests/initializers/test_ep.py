"""EP: every layer's logits at (0, √(π/2)) on real images, and gradients that live."""

import numpy as np
import pytest

from minisig import mlp
from minisig.data import load
from minisig.data.folder import complete_folder
from minisig.data.public import MNIST
from minisig.errors import UsageError
from minisig.experiments import configure
from minisig.layers import ScaledTanh
from minisig.models import build_network

SIZES = [64, *[100] * 10, 10]
EP = np.sqrt(np.pi / 2)
DENSE = [f"dense{i}" for i in range(11)]


def build(init, seed, digits, **options):
    return mlp(SIZES, init=init, rng=seed, x=digits.train.x, dtype="float64", **options)


def weight_gradient_norms(net, batch):
    return np.array([norm for name, norm in net.trace(*batch).gradient_norms().items() if name.endswith(".W")])


def assert_logits_at(sigma, z):
    """Mean 0 and mean square σ² of a layer's neurons, drawn apart: within five standard errors of so many."""
    for of_neuron, expected in ((z.mean(axis=0), 0.0), ((z**2).mean(axis=0), sigma**2)):
        error = of_neuron.std(ddof=1) / np.sqrt(len(of_neuron))
        assert of_neuron.mean() == pytest.approx(expected, rel=0, abs=5 * error + 1e-12)


@pytest.fixture(
    scope="module", params=[(i, s) for i in ("random+ep", "ortho+ep") for s in range(5)], ids="{0[0]}-{0[1]}".format
)
def net(request, digits):
    return build(*request.param, digits)


def test_every_layers_logits_are_at_the_optimum(net, digits):
    outputs = net.trace(digits.train.x, digits.train.y).outputs
    for name in DENSE:  # a neuron's standard deviation varies by a fifth, for its inputs are correlated
        assert_logits_at(EP, outputs[name])


def test_all_weight_gradients_are_within_a_factor_of_five(net, batch):
    norms = weight_gradient_norms(net, batch)
    assert len(norms) == 11
    assert norms.max() < 5 * norms.min()


@pytest.mark.parametrize("seed", range(3))
def test_with_lecun_the_first_layers_gradient_has_vanished(seed, digits, batch):
    norms = weight_gradient_norms(build("lecun", seed, digits), batch)
    assert 0 < norms[0] < 1e-3 * norms[-1]


def test_hidden_neurons_have_the_papers_norm_and_centred_biases(net):
    for name in DENSE[1:]:
        W, b = net.params[f"{name}.W"], net.params[f"{name}.b"]
        np.testing.assert_allclose(np.linalg.norm(W, axis=0), 5.1615702534, rtol=0, atol=1e-9)
        np.testing.assert_allclose(b, -0.5 * W.sum(axis=0), atol=1e-12)


def test_the_first_layer_takes_the_measured_moments_of_the_data(net, digits):
    x, W = digits.train.x.astype(np.float64), net.params["dense0.W"]
    np.testing.assert_allclose(x.var(axis=0) @ W**2, np.pi / 2, rtol=1e-10)
    np.testing.assert_allclose(net.params["dense0.b"], -x.mean(axis=0) @ W, atol=1e-12)


def test_without_data_the_first_layer_assumes_mean_zero_and_variance_one():
    net = mlp([64, 30, 10], dtype="float64")
    np.testing.assert_allclose((net.params["dense0.W"] ** 2).sum(axis=0), np.pi / 2, rtol=1e-12)
    np.testing.assert_array_equal(net.params["dense0.b"], np.zeros(30))


def test_constant_pixels_get_weights_no_larger_than_the_others(digits):
    W = build("random+ep", 0, digits).params["dense0.W"]
    constant = digits.train.x.var(axis=0) == 0
    squares = W[constant] ** 2
    assert squares.size >= 100
    # The mean of N squares of a uniform has a relative standard error of √(4/5/N).
    assert squares.mean() == pytest.approx((W[~constant] ** 2).mean(), rel=5 * np.sqrt(0.8 / squares.size))


@pytest.mark.parametrize("radius", ["ep", "exact"])
def test_random_and_ortho_differ_in_their_directions(radius, digits):
    random, ortho = (build(f"{draw}+{radius}", 0, digits).params["dense5.W"] for draw in ("random", "ortho"))
    random, ortho = (W / np.linalg.norm(W, axis=0) for W in (random, ortho))
    np.testing.assert_allclose(ortho.T @ ortho, np.eye(100), atol=1e-12)
    # Random directions have cosines of 0 ± 1/√100, and there are 4,950 of them: their rms is known to 1 %.
    cosines = (random.T @ random)[np.triu_indices(100, 1)]
    assert np.sqrt((cosines**2).mean()) == pytest.approx(0.1, rel=5 / np.sqrt(2 * 4950))


@pytest.mark.parametrize("init", ["random+exact", "ortho+exact"])
def test_the_exact_variants_sit_where_the_true_entropy_is_largest(init, digits):
    net, sigma, k = build(init, 0, digits), 1.7488007445, 0.0865106952
    variance = digits.train.x.var(axis=0, dtype=np.float64)
    np.testing.assert_allclose(np.sqrt(variance @ net.params["dense0.W"] ** 2), sigma, atol=1e-8)
    for name in DENSE[1:]:
        # k is printed with 10 digits, so that σ/√k is known to 1e-8
        np.testing.assert_allclose(
            np.linalg.norm(net.params[f"{name}.W"], axis=0), sigma / np.sqrt(k), rtol=0, atol=5e-8
        )
    outputs = net.trace(digits.train.x, digits.train.y).outputs
    for name in DENSE:
        assert_logits_at(sigma, outputs[name])


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep", "random+exact"])
def test_under_scaled_tanh_ep_is_the_same_network_reparametrised(init, digits):
    sigmoid, tanh = (build(init, 0, digits, activation=name) for name in ("sigmoid", "scaled-tanh"))
    z, u = (net.trace(digits.train.x, digits.train.y).outputs for net in (sigmoid, tanh))
    for name in DENSE:
        np.testing.assert_allclose(ScaledTanh.logistic.slope * u[name], z[name], atol=1e-10)


def test_the_account_states_the_target(digits):
    for activation, slope in (("sigmoid", 1.0), ("scaled-tanh", ScaledTanh.logistic.slope)):
        for row in build("random+ep", 0, digits, activation=activation).account.layers:
            assert (row.target.mean, row.target.std) == pytest.approx((0, EP / slope))


def test_constant_data_are_refused():
    with pytest.raises(UsageError, match="all inputs are constant"):
        mlp([3, 5, 2], x=np.ones((10, 3)))


@pytest.mark.skipif(complete_folder(MNIST) is None, reason="MNIST is not here: minisig data fetch mnist")
def test_the_deep_network_on_mnist_tells_the_papers_story():
    """At the start EP's gradients are flat; the others' decay by orders of magnitude towards the input."""
    data = load("mnist")
    batch = data.train.batches(50, 0).at(1)
    share = {}
    for init in ("random+ep", "ortho+ep", "ortho", "glorot", "lecun"):
        net = build_network(configure("mnist-deep", {"network.init": init}), data)
        norms = net.trace(batch.x, batch.labels).gradient_norms()
        share[init] = norms["dense0.W"] / norms["dense5.W"]
    assert 0.2 < share["random+ep"] < 5
    assert 0.2 < share["ortho+ep"] < 5
    assert max(share["ortho"], share["glorot"]) < 1e-2
    assert share["lecun"] < 1e-3
