"""A trace: everything one pass computed, layer by layer, and what each example added to it."""

import numpy as np
import pytest

from minisig import mlp, recurrent
from minisig.gradients import global_norm


def test_a_trace_holds_every_output_and_its_gradient(batch):
    net = mlp([64, 5, 4, 10])
    trace = net.trace(*batch, input_gradient=True)
    assert list(trace.outputs) == list(trace.deltas) == list(net.layers)
    assert list(trace.gradients) == list(net.params)
    for name, output in trace.outputs.items():
        assert output.shape == trace.deltas[name].shape
    np.testing.assert_array_equal(trace.outputs["dense2"], net.forward(batch[0]))
    assert trace.dx.shape == trace.x.shape == batch[0].shape
    y, dy, dz = trace.outputs["sigmoid0"], trace.deltas["sigmoid0"], trace.deltas["dense0"]
    np.testing.assert_allclose(dz, dy * y * (1 - y), rtol=1e-5)


def test_logits_and_their_gradients_are_kept_layer_by_layer_and_step_by_step(batch):
    net = mlp([64, 5, 4, 10])
    trace = net.trace(*batch)
    assert list(trace.logits()) == list(trace.logit_gradients()) == ["dense0", "dense1", "dense2"]
    np.testing.assert_array_equal(trace.logits()["dense1"], trace.outputs["dense1"])
    np.testing.assert_array_equal(trace.logit_gradients()["dense1"], trace.deltas["dense1"])
    assert list(trace.activation_gradients()) == ["sigmoid0", "sigmoid1"]
    np.testing.assert_array_equal(trace.activation_gradients()["sigmoid1"], trace.deltas["sigmoid1"])
    tokens = np.random.default_rng(0).integers(0, 6, (9, 4))
    for model, init, width in (("rnn", "random+ep", 7), ("lstm", "glorot", 28)):
        net = recurrent(6, [7], model=model, init=init, dtype="float64")
        trace = net.trace(tokens, tokens)
        z, dz = trace.logits()[f"{model}0"], trace.logit_gradients()[f"{model}0"]
        assert z.shape == dz.shape == (9, 4, width)
        # A bias moves every logit of its neuron alike: its gradient is the sum of theirs.
        np.testing.assert_allclose(dz.sum(axis=(0, 1)), trace.gradients[f"{model}0.b"].dense(net.backend), atol=1e-12)
        y, dy = trace.outputs[f"{model}0"], trace.activation_gradients()[f"{model}0"]
        if model == "rnn":
            np.testing.assert_allclose(dz, dy * y * (1 - y), atol=1e-15)
        else:  # the output gate sees nothing but h = o · tanh(c)
            o, tanh_c = trace.caches["lstm0"].gates[..., 21:], trace.caches["lstm0"].tanh_c
            np.testing.assert_allclose(dz[..., 21:], dy * tanh_c * o * (1 - o), atol=1e-15)
        expected = (
            1 / (1 + np.exp(-z))
            if model == "rnn"
            else 1 / (1 + np.exp(-z[..., 21:])) * np.tanh(trace.caches["lstm0"].c[1:])
        )
        np.testing.assert_allclose(y, expected, atol=1e-14)


def explicit(net, x, labels, samples):
    """Gradient norms of each example's own loss, by a trace of that example alone."""
    found = {name: [] for name in net.params}
    for b in range(samples):
        one = (x[b : b + 1], labels[b : b + 1]) if labels.ndim == 1 else (x[:, b : b + 1], labels[:, b : b + 1])
        for name, gradient in net.trace(*one).gradients.items():
            found[name].append(np.linalg.norm(gradient.dense(net.backend)))
    return found


def test_sample_norms_of_an_mlp_are_those_of_each_example_alone(batch):
    x, labels = batch[0].astype(float), batch[1]
    net = mlp([64, 9, 8, 10], rng=0, x=x, dtype="float64")
    norms = net.trace(x, labels).sample_norms()
    for name, expected in explicit(net, x, labels, len(x)).items():
        np.testing.assert_allclose(norms[name], expected, rtol=1e-10)


@pytest.mark.parametrize(("model", "init"), [("rnn", "random+ep"), ("lstm", "glorot")])
def test_sample_norms_through_time_are_those_of_each_sequence_alone(model, init):
    rng = np.random.default_rng(0)
    tokens, labels = rng.integers(0, 6, (9, 4)), rng.integers(0, 6, (9, 4))
    net = recurrent(6, [5], model=model, init=init, dtype="float64")
    norms = net.trace(tokens, labels).sample_norms()
    for name, expected in explicit(net, tokens, labels, 4).items():
        np.testing.assert_allclose(norms[name], expected, rtol=1e-9)


def test_the_total_norm_is_that_of_all_gradients_as_one_vector(batch):
    net = mlp([64, 9, 10], dtype="float64")
    trace = net.trace(*batch)
    everything = np.concatenate([g.dense(net.backend).ravel() for g in trace.gradients.values()])
    assert global_norm(trace.gradient_norms()) == pytest.approx(np.linalg.norm(everything), rel=1e-12)
