"""Recurrent initializations: what is promised of every matrix and of the logits of real sequences."""

import numpy as np
import pytest

from minisig.data import DataConfig, load
from minisig.errors import UsageError
from minisig.initializers import initialize_recurrent
from minisig.initializers.inputs import SAMPLE
from minisig.initializers.lsuv import TOLERANCE
from minisig.network import recurrent
from tests.initializers.test_draws import assert_uniform

RADIUS = 5.1615702534
VARIANCE = 0.0589598258  # k, of EP's activations
V, H = 10, 100


@pytest.fixture(scope="module")
def copy():
    part = load(DataConfig(source="copy-memory")).train
    return part.batches(20, 0).at(1).x, np.bincount(part.tokens.ravel(), minlength=V)


def weights(init, copy=None, model="rnn", hidden=(H,), **options):
    tokens, frequencies = copy or (None, None)
    rng = np.random.default_rng(0)
    return initialize_recurrent(init, model, V, hidden, rng, tokens, frequencies, **options)


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep"])
def test_recurrent_mode_puts_every_state_row_at_the_radius_and_the_inputs_at_a_tenth(copy, init):
    params, _ = weights(init, copy)
    cell, E = params["rnn0"], params["embedding"]["E"]
    np.testing.assert_allclose(np.linalg.norm(cell["Wh"], axis=0), RADIUS, rtol=1e-9)
    np.testing.assert_allclose(E.var(axis=0) @ cell["Wx"] ** 2, 0.1**2, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(params["dense"]["W"], axis=0), RADIUS, rtol=1e-9)


@pytest.mark.parametrize("mode", ["recurrent", "joint"])
def test_biases_centre_the_logits_of_the_real_symbols(copy, mode):
    _, frequencies = copy
    params, _ = weights("random+ep", copy, ep_mode=mode)
    cell, E = params["rnn0"], params["embedding"]["E"]
    mean = (frequencies / frequencies.sum()) @ E
    np.testing.assert_allclose(mean @ cell["Wx"] + 0.5 * cell["Wh"].sum(axis=0) + cell["b"], 0, atol=1e-12)
    np.testing.assert_allclose(0.5 * params["dense"]["W"].sum(axis=0) + params["dense"]["b"], 0, atol=1e-12)


def test_frequencies_that_nobody_gave_are_counted_in_the_tokens(copy):
    tokens, _ = copy
    counted = weights("random+ep", (tokens, np.bincount(tokens.ravel(), minlength=V)))
    found = weights("random+ep", (tokens, None))
    np.testing.assert_array_equal(found[0]["rnn0"]["b"], counted[0]["rnn0"]["b"])


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep"])
@pytest.mark.parametrize(
    ("mode", "lengths"),
    [("recurrent", (0.1 / np.sqrt(VARIANCE), RADIUS)), ("joint", (RADIUS / np.sqrt(2), RADIUS / np.sqrt(2)))],
)
def test_the_second_layer_is_made_for_activities_of_eps_own_neurons(copy, init, mode, lengths):
    params, _ = weights(init, copy, hidden=[H, 60], ep_mode=mode)
    cell = params["rnn1"]
    assert cell["Wx"].shape == (H, 60)
    np.testing.assert_allclose(np.linalg.norm(cell["Wx"], axis=0), lengths[0], rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(cell["Wh"], axis=0), lengths[1], rtol=1e-9)
    np.testing.assert_allclose(0.5 * (cell["Wx"].sum(axis=0) + cell["Wh"].sum(axis=0)) + cell["b"], 0, atol=1e-12)


def test_joint_mode_splits_the_variance_evenly(copy):
    _, frequencies = copy
    params, _ = weights("random+ep", copy, ep_mode="joint")
    cell, E = params["rnn0"], params["embedding"]["E"]
    p = frequencies / frequencies.sum()
    variance = p @ (E - p @ E) ** 2
    np.testing.assert_allclose(variance @ cell["Wx"] ** 2, np.pi / 4, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(cell["Wh"], axis=0), RADIUS / np.sqrt(2), rtol=1e-9)


def test_an_explicit_radius_is_taken():
    params, account = weights("ortho+ep", radius=4.5)
    assert account.layers[0].target.std == pytest.approx(np.sqrt(4.5**2 * VARIANCE + 0.1**2), rel=1e-8)
    np.testing.assert_allclose(np.linalg.norm(params["rnn0"]["Wh"], axis=0), 4.5, rtol=1e-9)
    # A square orthonormal matrix has columns of length 1 already: it stays orthogonal.
    np.testing.assert_allclose(params["rnn0"]["Wh"].T @ params["rnn0"]["Wh"], 4.5**2 * np.eye(H), atol=1e-9)


def test_the_exact_variants_have_their_own_radius():
    params, _ = weights("random+exact")
    np.testing.assert_allclose(
        np.linalg.norm(params["rnn0"]["Wh"], axis=0), 1.7488007445 / np.sqrt(0.0865106952), rtol=1e-7
    )


def test_lsuv_gives_the_logits_of_the_batch_variance_one(copy):
    params, account = weights("lsuv", copy)
    assert account.layers[0].std ** 2 == pytest.approx(1, abs=TOLERANCE)
    assert not params["rnn0"]["b"].any()
    tokens, frequencies = copy
    net = recurrent(V, [H], init="lsuv", rng=0, tokens=tokens, frequencies=frequencies, dtype="float64")
    trace = net.trace(tokens, tokens)
    assert trace.caches["rnn0"].z.var() == pytest.approx(1, abs=TOLERANCE)
    assert trace.outputs["dense"].var() == pytest.approx(1, rel=1e-12)  # by one division: no state comes between


def test_lsuv_goes_on_until_the_variance_is_there(copy):
    _, account = weights("lsuv", copy, hidden=[2, 2])  # the second layer swings from 25 to 0.07, and so on: ten rounds
    assert [row.std**2 for row in account.layers[:2]] == pytest.approx([1, 1], abs=TOLERANCE)


def test_every_init_starts_from_the_same_embedding_uniform_in_minus_one_to_one():
    E, *others = (weights(init)[0]["embedding"]["E"] for init in ["random+ep", "ortho+exact", "lsuv", "lecun"])
    assert_uniform(E, 1.0)
    for other in [*others, weights("ortho", model="lstm")[0]["embedding"]["E"]]:
        np.testing.assert_array_equal(other, E)


@pytest.mark.parametrize(("init", "limit"), [("lecun", 1 / np.sqrt(H)), ("glorot", np.sqrt(6 / (2 * H)))])
def test_plain_draws_have_their_limits_and_no_biases(init, limit):
    params, _ = weights(init)
    assert_uniform(params["rnn0"]["Wh"], limit)
    assert not params["rnn0"]["b"].any()
    assert not params["dense"]["b"].any()


def test_ortho_is_orthonormal():
    params, _ = weights("ortho")
    np.testing.assert_allclose(params["rnn0"]["Wh"].T @ params["rnn0"]["Wh"], np.eye(H), atol=1e-12)


@pytest.mark.parametrize(("given", "bias"), [({}, 1.0), ({"forget_bias": 5.0}, 5.0)])
def test_the_lstm_has_a_forget_bias_and_orthonormal_gates(given, bias):
    params, _ = weights("ortho", model="lstm", **given)
    cell = params["lstm0"]
    np.testing.assert_array_equal(cell["b"], np.repeat([0.0, bias, 0.0, 0.0], H))
    for k in range(4):
        gate = cell["Wh"][:, k * H : (k + 1) * H]
        np.testing.assert_allclose(gate.T @ gate, np.eye(H), atol=1e-12)
    assert not np.allclose(cell["Wh"][:, :H], cell["Wh"][:, H : 2 * H])


@pytest.mark.parametrize("h", [60, 140])
def test_the_gates_of_an_lstm_that_grows_or_shrinks_are_orthonormal_as_well(h):
    Wx = weights("ortho", model="lstm", hidden=[H, h])[0]["lstm1"]["Wx"]
    assert Wx.shape == (H, 4 * h)
    for gate in np.split(Wx, 4, axis=1):
        gram = gate.T @ gate if h < H else gate @ gate.T
        np.testing.assert_allclose(gram, np.eye(min(h, H)), atol=1e-12)


def test_the_account_is_what_the_network_itself_does(copy):
    tokens, frequencies = copy
    net = recurrent(V, [H], init="ortho+ep", rng=0, tokens=tokens, frequencies=frequencies, dtype="float64")
    trace = net.trace(tokens, tokens)
    z = trace.caches["rnn0"].z.reshape(-1, H)
    row, output = net.account.layers
    assert output.std == pytest.approx(trace.outputs["dense"].std(), rel=1e-6)
    assert row.mean == pytest.approx(z.mean(), abs=1e-9)
    assert row.std == pytest.approx(z.std(), rel=1e-6)
    assert row.neuron_std == pytest.approx(np.sqrt(z.var(axis=0).mean()), rel=1e-6)
    assert net.account.source == "measured on {}×{} tokens".format(*tokens.shape)
    assert "rnn0" in str(net.account)


@pytest.mark.parametrize("vocabulary", [2, SAMPLE, SAMPLE + 1])
def test_without_tokens_the_account_is_of_one_step_from_every_token_up_to_a_thousand(vocabulary):
    _, account = initialize_recurrent("random+ep", "rnn", vocabulary, [3], np.random.default_rng(0))
    assert account.source == f"measured on 1×{min(vocabulary, 1000)} tokens"


def test_the_account_counts_inputs_and_state_as_what_a_neuron_sees():
    _, account = weights("random+ep", hidden=[H, 60])
    shapes = {row.layer: row.shape for row in account.layers}
    assert shapes == {"rnn0": (H + H, H), "rnn1": (H + 60, 60), "dense": (60, V)}


def test_lsuv_leaves_a_single_logit_as_it_is_for_it_has_no_variance():
    net = recurrent(2, [1], init="lsuv", tokens=[[0]], dtype="float64")
    assert abs(net.params["rnn0.Wh"].item()) == 1.0  # orthonormal


@pytest.mark.parametrize("init", ["random+ep", "lsuv"])
def test_an_lstm_refuses_what_is_meant_for_sigmoids(init):
    with pytest.raises(UsageError, match=r"does not initialize a lstm; choose from: ortho, glorot, lecun$"):
        weights(init, model="lstm")


@pytest.mark.parametrize(("vocabulary", "hidden"), [(1, [5]), (5, []), (5, [0])])
def test_a_network_without_words_or_units_is_refused(vocabulary, hidden):
    with pytest.raises(UsageError, match="at least two tokens" if vocabulary == 1 else "sizes of layers"):
        recurrent(vocabulary, hidden)


@pytest.mark.parametrize(
    "options", [{"radius": -4.5}, {"radius": 0.0}, {"input_rms": 0.0}, {"input_rms": float("nan")}]
)
def test_lengths_that_are_not_positive_are_refused(options):
    with pytest.raises(UsageError, match=r"expected (float >= 1e-06|a finite number), got"):
        weights("random+ep", **options)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"frequencies": np.zeros(5)}, "not all zero"),
        ({"frequencies": np.array([2.0, 1, 1, 1, -1])}, "none negative"),
        ({"frequencies": np.ones(4)}, r"expected 5 frequencies.*got shape \(4,\)"),
        ({"frequencies": np.array([1, 1, 1, 1, np.nan])}, "sum nan"),
        ({"tokens": np.full((2, 3), 5)}, "expected tokens from 0 to 4, got 5 to 5"),
        (
            {"tokens": np.zeros((2, 3, 1), dtype=int)},
            r"expected integer tokens \(T, B\), got int64 of shape \(2, 3, 1\)",
        ),
        ({"tokens": np.full((2, 3), -1)}, "got -1 to -1"),
        ({"tokens": np.zeros(3, dtype=int)}, r"tokens \(T, B\), got int64 of shape \(3,\)"),
        ({"tokens": np.zeros((0, 3), dtype=int)}, r"of shape \(0, 3\)"),
        ({"tokens": np.zeros((2, 3))}, "got float64"),
    ],
)
def test_data_that_are_none_are_refused(data, message):
    with pytest.raises(UsageError, match=message):
        recurrent(5, [3], **data)


def test_two_words_and_one_unit_are_enough():
    assert recurrent(2, [1]).forward(np.zeros((3, 4), dtype=int)).shape == (3, 4, 2)


@pytest.mark.parametrize(
    ("init", "targets"),
    [
        ("random+ep", [(0.0, np.sqrt(np.pi / 2 + 0.01)), (0.0, np.sqrt(np.pi / 2))]),
        ("lsuv", [(None, 1.0)] * 2),
        ("lecun", [(None, None)] * 2),
    ],
)
def test_the_account_says_what_was_aimed_at(init, targets):
    _, account = weights(init)
    for row, target in zip(account.layers, targets, strict=True):
        assert (row.target.mean, row.target.std) == (target[0], target[1] and pytest.approx(target[1]))


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun"])
def test_weights_of_the_inputs_and_of_the_state_are_drawn_apart(init):
    cell = weights(init)[0]["rnn0"]
    correlation = np.corrcoef(cell["Wx"].ravel(), cell["Wh"].ravel())[0, 1]
    assert abs(correlation) < 5 / H  # of H² pairs
