"""Logistics: every one is the sigmoid of the paper by its three numbers."""

import numpy as np
import pytest

import minisig as ms
from minisig.activations import Logistic, LogisticActivation


@pytest.mark.parametrize("name", ["sigmoid", "scaled-tanh", "tanh"])
def test_what_is_saturated_is_the_same_for_a_logistic_by_range_and_by_slope(batch, name):
    net = ms.mlp([64, 30, 10], x=batch[0], activation=name, dtype="float64")
    net.params["dense0.W"][...] *= 2
    trace = net.trace(*batch)
    (row,) = ms.activation_statistics(trace)
    f = net.layers[f"{name.replace('-', '_')}0"]
    assert 0.2 < row.saturated < 0.9
    assert row.saturated == (f.derivative(trace.outputs["dense0"]) < 4 * 0.05 * 0.95 * f.steepest).mean()


def test_an_own_logistic_gets_ep_by_its_three_numbers(batch):
    class Steep(LogisticActivation):
        logistic = Logistic(slope=3.0, scale=2.0, centre=1.0)

    net = ms.mlp([64, 40, 40, 10], x=batch[0], activation=Steep(), dtype="float64")
    assert ms.check_gradients(net, batch[0][:4], batch[1][:4], entries=10).error < 1e-10
    sigmoids = ms.mlp([64, 40, 40, 10], x=batch[0], dtype="float64")
    z, u = (n.trace(*batch).outputs["dense1"] for n in (sigmoids, net))
    np.testing.assert_allclose(3 * u, z, atol=1e-10)
