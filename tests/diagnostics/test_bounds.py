"""Bounds: each against an explicit Jacobian, always in order, and the verdicts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from minisig import mlp, recurrent, vanishing_bounds
from minisig.diagnostics.bounds import EXAMPLES, Bound, Bounds
from minisig.errors import UsageError


def values(row):
    return [row.measured, row.product_with_real_derivatives, row.spectral, row.frobenius]


def in_order(bounds):
    return all(a <= b for row in bounds.rows for a, b in zip(values(row), values(row)[1:], strict=False))


def test_every_number_is_that_of_explicit_matrices(batch):
    x, labels = batch[0].astype(float), batch[1]
    net = mlp([64, 9, 8, 7, 10], rng=3, x=x, dtype="float64")
    bounds = vanishing_bounds(net.trace(x, labels))
    assert [row.to for row in bounds.rows] == ["sigmoid2", "sigmoid1", "sigmoid0"]
    # The same one example at a time, with Jacobians of y^l by y^(l−1) from numerical differentiation.
    p = net.params
    ys = [expit(x[:EXAMPLES] @ p["dense0.W"] + p["dense0.b"])]
    for i in (1, 2):
        ys.append(expit(ys[-1] @ p[f"dense{i}.W"] + p[f"dense{i}.b"]))
    z = ys[-1] @ p["dense3.W"] + p["dense3.b"]
    softmax = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    delta = ((softmax - np.eye(10)[labels[:EXAMPLES]]) / len(x)) @ p["dense3.W"].T
    real = spectral = frobenius = np.linalg.norm(delta)
    for row, i in zip(bounds.rows[1:], (2, 1), strict=True):
        W, b, y = p[f"dense{i}.W"], p[f"dense{i}.b"], ys[i - 1]
        J = np.empty((EXAMPLES, *W.shape))
        for k in range(len(W)):
            step = np.zeros(len(W))
            step[k] = 1e-6
            J[:, k] = (expit((y + step) @ W + b) - expit((y - step) @ W + b)) / 2e-6
        delta = np.einsum("sm,snm->sn", delta, J)
        real *= max(np.linalg.norm(jacobian, 2) for jacobian in J)
        spectral *= np.linalg.norm(W, 2) / 4
        frobenius *= np.linalg.norm(W) / 4
        np.testing.assert_allclose(values(row), [np.linalg.norm(delta), real, spectral, frobenius], rtol=1e-7)
        assert row.slack == pytest.approx(np.log10(frobenius / np.linalg.norm(delta)), abs=1e-6)


def test_through_time_the_last_steps_loss_is_followed_back():
    rng = np.random.default_rng(0)
    tokens, labels = rng.integers(0, 6, (8, 3)), rng.integers(0, 6, (8, 3))
    net = recurrent(6, [5], rng=1, dtype="float64")
    bounds = vanishing_bounds(net.trace(tokens, labels))
    assert [row.to for row in bounds.rows] == [f"rnn0[{t}]" for t in range(7, -1, -1)]

    def last_loss(state, t):
        """Loss of the last step when the state after step t is this one."""
        z = (
            net.advance(tokens[t + 1 :], {"rnn0": state})[0][-1]
            if t < 7
            else state @ net.params["dense.W"] + net.params["dense.b"]
        )
        return (np.log(np.exp(z).sum(axis=1)) - z[range(3), labels[-1]]).sum() / labels.size

    for row, t in zip(bounds.rows, range(7, -1, -1), strict=True):
        state = net.advance(tokens[: t + 1])[1]["rnn0"]
        numeric = np.empty_like(state)
        for index in np.ndindex(state.shape):
            step = np.zeros_like(state)
            step[index] = 1e-6
            numeric[index] = (last_loss(state + step, t) - last_loss(state - step, t)) / 2e-6
        assert row.measured == pytest.approx(np.linalg.norm(numeric), rel=1e-6)
        assert row.frobenius == pytest.approx(
            bounds.rows[0].measured * (np.linalg.norm(net.params["rnn0.Wh"]) / 4) ** (7 - t), rel=1e-9
        )


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=3, max_size=7),
    scale=st.floats(0.01, 20),
    seed=st.integers(0, 2**16),
    activation=st.sampled_from(["sigmoid", "scaled-tanh"]),
)
def test_the_numbers_of_a_row_never_decrease_whatever_the_network(sizes, scale, seed, activation):
    rng = np.random.default_rng(seed)
    net = mlp([3, *sizes, 4], init="glorot", rng=rng, activation=activation, dtype="float64")
    for w in net.params.values():
        w *= scale
    bounds = vanishing_bounds(net.trace(rng.standard_normal((6, 3)), rng.integers(0, 4, 6)))
    assert in_order(bounds)


@settings(max_examples=25, deadline=None)
@given(H=st.integers(1, 8), T=st.integers(2, 12), scale=st.floats(0.05, 10), seed=st.integers(0, 2**16))
def test_the_numbers_of_a_row_never_decrease_through_time(H, T, scale, seed):
    rng = np.random.default_rng(seed)
    net = recurrent(5, [H], init="glorot", rng=rng, dtype="float64")
    net.params["rnn0.Wh"][...] *= scale
    tokens = rng.integers(0, 5, (T, 3))
    assert in_order(vanishing_bounds(net.trace(tokens, tokens)))


def test_a_wide_network_keeps_the_order_through_lanczos(batch):
    net = mlp([64, 200, 180, 160, 10], rng=0, x=batch[0])
    assert in_order(vanishing_bounds(net.trace(*batch)))


def test_a_network_below_the_critical_norm_provably_dies(batch):
    net = mlp([64, *[3] * 12, 10], init="lecun", rng=0)
    for i in range(1, 12):
        W = net.params[f"dense{i}.W"]
        W *= 2 / np.linalg.norm(W)  # ‖W‖_F = 2 < 4: a factor of at most one half a layer
    bounds = vanishing_bounds(net.trace(*batch))
    start, end = bounds.rows[0], bounds.rows[-1]
    assert end.frobenius == pytest.approx(start.measured * 0.5**11, rel=1e-5)
    assert end.measured <= end.frobenius
    assert bounds.verdict == "vanishes: guaranteed by the bound"


@pytest.mark.parametrize(
    ("init", "depth", "verdict"),
    [("random+ep", 10, "alive"), ("ortho+ep", 10, "alive"), ("lecun", 10, "vanishes: guaranteed by the bound")],
)
def test_verdicts_on_real_data(batch, init, depth, verdict):
    net = mlp([64, *[100] * depth, 10], init=init, rng=0, x=batch[0])
    assert vanishing_bounds(net.trace(*batch)).verdict == verdict


@pytest.mark.parametrize(
    ("measured", "spectral", "verdict"),
    [
        (0.005, 0.009, "vanishes: guaranteed by the bound"),
        (0.009, 0.011, "vanishes: measured"),
        (0.011, 0.011, "alive"),
        (90, 1000, "alive"),
        (110, 1000, "explodes"),
    ],
)
@pytest.mark.parametrize("start", [1e-6, 1.0, 1e6])
def test_two_decades_either_way_are_what_a_gradient_may_change_by(start, measured, spectral, verdict):
    end = Bound("y1", "y0", *(start * size for size in (measured, spectral, spectral, spectral)))
    assert Bounds([Bound("y1", "y1", start, start, start, start), end]).verdict == verdict


def test_a_gradient_that_dies_although_the_bound_allows_it_to_live_is_measured(batch):
    net = mlp([64, *[50] * 6, 10], rng=0, x=batch[0])
    for i in range(6):
        net.params[f"dense{i}.b"][...] += 12  # saturated, the weights unchanged
    assert vanishing_bounds(net.trace(*batch)).verdict == "vanishes: measured"


def test_large_random_weights_without_saturation_explode():
    net = mlp([5, *[40] * 12, 3], init="glorot", rng=0, activation="scaled-tanh", dtype="float64")
    for i in range(1, 12):
        net.params[f"dense{i}.W"][...] *= 3
    x = 1e-9 * np.random.default_rng(0).standard_normal((4, 5))  # so small that nothing saturates
    assert vanishing_bounds(net.trace(x, np.array([0, 1, 2, 0]))).verdict == "explodes"


@pytest.mark.parametrize(
    "net", [mlp([3, 4]), recurrent(4, [3], model="lstm", init="glorot")], ids=["no hidden", "lstm"]
)
def test_networks_without_a_chain_of_sigmoids_are_refused(net):
    x = np.zeros((2, 3)) if "dense0" in net.layers else np.zeros((2, 3), dtype=int)
    labels = np.zeros(2, dtype=int) if "dense0" in net.layers else np.zeros((2, 3), dtype=int)
    with pytest.raises(UsageError, match="bounds need"):
        vanishing_bounds(net.trace(x, labels))


def test_a_dense_network_over_time_has_the_bounds_of_its_rows():
    net = mlp([4, 3, 3, 2], dtype="float64")
    rng = np.random.default_rng(0)
    x, labels = rng.uniform(-1, 1, (5, 6, 4)), rng.integers(0, 2, (5, 6))
    over_time, in_rows = (vanishing_bounds(net.trace(*at)) for at in ((x, labels), (x.reshape(30, 4), labels.ravel())))
    assert over_time == in_rows
