"""What a training step does on the device: it waits for nothing, and launches as few kernels as there must be."""

import warnings

import cupy
import cupyx
import numpy as np
import pytest

from minisig.backends import get_backend
from tests.layers.gated import gru_network

from . import device
from .runs import configured, training


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
@pytest.mark.parametrize("name", ["momentum", "dropout", "augmented", "rnn", "lstm", "text, two layers, momentum"])
def test_a_step_never_waits_for_the_device(name, text, optimizer, clip):
    config = configured(name, text, backend="cupy", optimizer__name=optimizer, optimizer__clip=clip)
    stepping = training(config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy's own, that some waits go unnoticed
        with cupyx.allow_synchronize(False), device.counting() as counts:
            for iteration in (1, 2, 3):
                trace, _ = stepping.step(iteration)
    assert counts.copies["D2H"] == 0
    assert np.isfinite(float(trace.loss))


def one_step(name, text, **overrides):
    """What the third step does, when slots and constants are there."""
    config = configured(name, text, backend="cupy", **overrides)
    stepping = training(config)
    for iteration in (1, 2):
        stepping.step(iteration)
    with device.counting() as counts:
        stepping.step(3)
    return sum(counts.launches.values()), sum(counts.gemms.values()), counts


# Counted with CuPy's own reductions, one launch each. Those of CUB, on a real device, may take two.

WEIGHTS = 3  # matrices of the perceptron, 64 → 15 → 12 → 10, each with a bias: so many parameters
PARAMETERS = 2 * WEIGHTS

FORWARD_AND_BACK = (
    2  # rows of x and of the labels are taken
    + WEIGHTS  # biases added
    + 2 * (WEIGHTS - 1)  # sigmoids, there and back
    + 2  # softmax with its gradient, mean loss
)
PRODUCTS = WEIGHTS + (WEIGHTS - 1)  # x W forward; dz Wᵀ back, but not to the input

CLIP = PARAMETERS + 2  # every norm into one array, their norm, the factor
CLIPPED = 1 + 2 + 1  # of a gradient that is an array: its norm, α g, added to v, w += v


def test_kernels_of_a_step_with_momentum(text):
    launches, gemms, counts = one_step("momentum", text)
    assert launches == FORWARD_AND_BACK + PARAMETERS  # w += v
    assert gemms == PRODUCTS + PARAMETERS  # v ← μ v − η g, for a bias with a row of ones
    assert counts.copies == {"H2D": 1}  # the numbers of the rows


def test_kernels_of_a_step_with_momentum_clipped(text):
    launches, gemms, counts = one_step("momentum, clipped", text, batch_size=10)
    # Every gradient is small, and made: a product, or the sum of a bias over the batch. α = −η · factor is one launch.
    assert launches == FORWARD_AND_BACK + WEIGHTS + PARAMETERS * CLIPPED + CLIP + 1
    assert gemms == PRODUCTS + WEIGHTS
    assert counts.copies == {"H2D": 1}


def test_kernels_of_a_step_with_momentum_clipped_whose_matrices_are_large(text, monkeypatch):
    monkeypatch.setattr("minisig.training.loop.SMALL", 0)
    launches, gemms, counts = one_step("momentum, clipped", text, batch_size=10)
    # For a matrix ‖x‖, ‖dz‖, both scaled by them, ⟨xxᵀ, dzdzᵀ⟩, and the product of three numbers; for a bias its sum
    # over the batch and its norm. Ten rows are few enough for xxᵀ and dzdzᵀ, one product each.
    assert launches == FORWARD_AND_BACK + PARAMETERS + WEIGHTS * (2 + 2 + 1 + 2) + WEIGHTS * 2 + CLIP + 1
    assert gemms == PRODUCTS + PARAMETERS + 2 * WEIGHTS
    assert counts.copies == {"H2D": 1}


def test_kernels_of_a_step_with_adam(text):
    launches, gemms, _ = one_step("adam", text)
    assert launches == FORWARD_AND_BACK + WEIGHTS + PARAMETERS  # sums for the biases; the update
    assert gemms == PRODUCTS + WEIGHTS  # gradients of the matrices


def test_kernels_of_a_step_with_adam_clipped(text):
    launches, gemms, _ = one_step("adam, clipped", text)
    assert launches == FORWARD_AND_BACK + WEIGHTS + PARAMETERS + PARAMETERS + CLIP  # and the norm of every gradient
    assert gemms == PRODUCTS + WEIGHTS


def test_dropout_adds_a_copy_and_two_products_of_entries_a_layer(text):
    launches, gemms, counts = one_step("dropout", text, optimizer__clip=None)
    assert launches == FORWARD_AND_BACK + PARAMETERS + 2 * (WEIGHTS - 1)
    assert gemms == PRODUCTS + PARAMETERS
    assert counts.copies == {"H2D": 1 + (WEIGHTS - 1)}


STEPS = 4 + 2 * 3  # of a sequence of the copy-memory task with delay 4

# Embedding, one recurrent layer, dense layer: E; Wx, Wh, b; W, b.
SEQUENCE_PARAMETERS = 6
SEQUENCE_FORWARD_AND_BACK = (
    2 * 2  # sequences taken, and laid out by time
    + 2  # what each token adds to the logits: a table with its bias, and its rows for all steps
    + STEPS  # the cell
    + 1  # the dense layer's bias
    + 2  # softmax, mean loss
    + 4  # E, Wx, Whᵀ and dy copied
    + STEPS  # the cell back
    + 1  # dz summed by tokens
)
SEQUENCE_PRODUCTS = (
    (1 + STEPS)
    + 1  # E Wx, h Wh of each step; the dense layer
    + 1
    + (STEPS - 1)  # back through the dense layer, through every step but the first, added to the step's own
)


def test_kernels_of_a_step_of_an_rnn(text):
    launches, gemms, counts = one_step("rnn, momentum", text, optimizer__clip=None)
    # h₀ = ½ is one launch. Every parameter: a product, and w += v.
    assert launches == SEQUENCE_FORWARD_AND_BACK + 1 + SEQUENCE_PARAMETERS
    assert gemms == SEQUENCE_PRODUCTS + SEQUENCE_PARAMETERS
    assert counts.copies == {"H2D": 1}
    assert counts.launches["minisig_sigmoid"] == counts.launches["minisig_sigmoid_backward"] == STEPS


def test_kernels_of_a_step_of_an_rnn_clipped(text):
    launches, gemms, counts = one_step("rnn, momentum", text, optimizer__clip=1.0)
    # Two biases are summed, four matrices made.
    assert launches == SEQUENCE_FORWARD_AND_BACK + 1 + 2 + SEQUENCE_PARAMETERS * (CLIPPED + 1) + 2 + 1
    assert gemms == SEQUENCE_PRODUCTS + 4
    assert counts.copies == {"H2D": 1}


def test_kernels_of_a_step_of_an_lstm(text):
    launches, gemms, counts = one_step("lstm", text, optimizer__clip=1.0)
    # Slopes of all steps; gradients as arrays, two biases summed; six norms; the factor; six updates. States of zeros
    # are set by memset, which is no kernel.
    assert launches == SEQUENCE_FORWARD_AND_BACK + 1 + 2 + SEQUENCE_PARAMETERS * 2 + SEQUENCE_PARAMETERS + 2
    assert gemms == SEQUENCE_PRODUCTS + 4
    assert counts.launches["minisig_lstm"] == counts.launches["minisig_lstm_backward"] == STEPS


def test_kernels_of_a_gru_there_and_back():
    net = gru_network(8, [7]).on(get_backend("cupy"))
    tokens, labels = cupy.asarray(np.random.default_rng(0).integers(0, 8, (2, STEPS, 10)))
    with device.counting() as counts:
        net.trace(tokens, labels)
    # Sequences are not taken and laid out here, and dy is copied by no kernel; slopes of all steps.
    assert sum(counts.launches.values()) == SEQUENCE_FORWARD_AND_BACK - 2 * 2 - 1 + 1
    assert counts.copies == {"D2D": 1}
    assert sum(counts.gemms.values()) == SEQUENCE_PRODUCTS
    assert counts.launches["minisig_gru"] == counts.launches["minisig_gru_backward"] == STEPS
    assert counts.launches["minisig_gru_slopes"] == 1


def unfused_step(parameters, velocities, x, labels):
    """The same step in CuPy's own array operations, as one would write it first."""
    activations = [x]
    for W, b in parameters[:-1]:
        activations.append(1 / (1 + cupy.exp(-(activations[-1] @ W + b))))
    W, b = parameters[-1]
    z = activations[-1] @ W + b
    e = cupy.exp(z - z.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    rows = cupy.arange(len(x))
    loss = -cupy.log(p[rows, labels]).mean()
    dz = p.copy()
    dz[rows, labels] -= 1
    dz /= len(x)
    for i in reversed(range(len(parameters))):
        y, (W, b) = activations[i], parameters[i]
        gradients = y.T @ dz, dz.sum(axis=0)
        if i:
            dz = dz @ W.T * y * (1 - y)
        for w, v, g in zip((W, b), velocities[i], gradients, strict=True):
            v *= 0.9
            v -= 0.05 * g
            w += v
    return loss


def test_kernels_are_far_fewer_than_without_fusing(text):
    config = configured("momentum", text, backend="cupy")
    stepping = training(config)
    params, batch = stepping.net.params, stepping.batches.at(1)
    layers = [(params[f"dense{i}.W"].copy(), params[f"dense{i}.b"].copy()) for i in range(WEIGHTS)]
    velocities = [tuple(cupy.zeros_like(w) for w in layer) for layer in layers]
    with device.counting() as counts:
        loss = unfused_step(layers, velocities, batch.x, batch.labels)
    trace, _ = stepping.step(1)
    assert float(loss) == pytest.approx(float(trace.loss), rel=1e-5)
    for i, layer in enumerate(layers):
        np.testing.assert_allclose(params[f"dense{i}.W"].get(), layer[0].get(), rtol=1e-4, atol=1e-6)
    fused, _, _ = one_step("momentum", text)
    assert sum(counts.launches.values()) > 3 * fused
