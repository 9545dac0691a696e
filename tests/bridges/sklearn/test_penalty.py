"""The L2 penalty: a term of the loss, and of the gradient of every weight matrix."""

import numpy as np
import pytest

import minisig as ms
from minisig.backends.numpy import NumpyBackend

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'minisig[sklearn]'")
from minisig.bridges.sklearn.penalty import Penalized

ALPHA, B = 3.0, 7


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return ms.mlp([4, 5, 3], dtype="float64"), rng.standard_normal((B, 4)), rng.integers(0, 3, B)


def test_the_loss_has_half_alpha_times_the_squared_weights_per_example(problem):
    net, x, labels = problem
    squares = sum(w**2 for name in ("dense0.W", "dense1.W") for w in net.params[name].ravel())
    expected = net.trace(x, labels).loss + ALPHA / 2 * squares / B
    assert Penalized(net, ALPHA).trace(x, labels).loss == pytest.approx(expected, rel=1e-13)


def test_its_gradients_are_those_of_the_complex_step(problem):
    net, x, labels = problem
    gradients = Penalized(net, ALPHA).trace(x, labels).gradients
    exact = Penalized(net.on(NumpyBackend("complex128")), ALPHA)
    for name, w in exact.params.items():
        dw = gradients[name].dense(net.backend)
        for at in np.ndindex(w.shape):
            w[at] += 1e-30j
            step = exact.trace(x, labels).loss.imag / 1e-30
            w[at] = w[at].real
            assert dw[at] == pytest.approx(step, rel=1e-11, abs=1e-13)


def test_the_network_it_is_made_of_shares_its_parameters_and_has_no_penalty(problem):
    net, x, labels = problem
    before = net.trace(x, labels).loss
    penalized = Penalized(net, ALPHA)
    assert net.trace(x, labels).loss == before
    penalized.params["dense0.W"][...] = 0
    assert not net.params["dense0.W"].any()
