"""What holds of every initializer: its own generator for each layer, and a result that is checked before it is used."""

import numpy as np
import pytest

from minisig.errors import MinisigError, UsageError
from minisig.initializers import INITIALIZERS, Inputs, Target, initialize
from minisig.layers import Sigmoid


@pytest.mark.parametrize("init", INITIALIZERS)
def test_changing_the_last_layer_leaves_the_others_as_they_are(init, digits):
    inputs = Inputs.measured(digits.train.x)

    def weights(last):
        return initialize(init, (64, 30, 20, last), np.random.default_rng(7), inputs, Sigmoid())[0]

    ten, three = weights(10), weights(3)
    for (W, b), (V, a) in zip(ten[:2], three[:2], strict=True):
        np.testing.assert_array_equal(W, V)
        np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep", "ortho", "glorot", "lecun"])
def test_changing_the_inputs_leaves_the_later_layers_as_they_are(init):
    wide, narrow = (
        initialize(init, (n, 30, 20, 10), np.random.default_rng(7), Inputs.standard(n), Sigmoid())[0] for n in (64, 40)
    )
    for (W, _), (V, _) in zip(wide[1:], narrow[1:], strict=True):
        np.testing.assert_array_equal(W, V)


@pytest.mark.parametrize("init", INITIALIZERS)
def test_a_seed_is_reproducible_and_layers_and_seeds_differ(init, digits):
    inputs = Inputs.measured(digits.train.x)

    def weights(seed):
        return [W for W, _ in initialize(init, (64, 64, 64), np.random.default_rng(seed), inputs, Sigmoid())[0]]

    first, second = weights(0)
    np.testing.assert_array_equal(weights(0), [first, second])
    # Independent draws have a correlation of 0 ± 1/64.
    for other in (second, weights(1)[0]):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 5 / 64


@pytest.mark.parametrize(
    ("init", "sizes", "message"),
    [
        ("lecunn", (64, 10), "Did you mean 'lecun'"),
        ("lecun", (64,), "at least an input and an output size"),
        ("lecun", (64, 0, 10), r"positive whole numbers.*got \(64, 0, 10\)"),
        ("lecun", (65, 10), "takes 65 inputs, the data have 64"),
    ],
)
def test_what_cannot_be_initialized_is_refused(init, sizes, message):
    with pytest.raises(UsageError, match=message):
        initialize(init, sizes, np.random.default_rng(0), Inputs.standard(64), Sigmoid())


def layer(n, m):
    return np.ones((n, m)), np.ones(m)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "got NoneType"),
        (([layer(3, 2), layer(2, 4)], (0.0, 1.0)), r"expected \(\[\(W, b\), …\], Target\)"),
        (([layer(3, 2)], Target()), r"for every layer of 3→2→4, got \[\(\(3, 2\), \(2,\)\)\]"),
        (([layer(3, 2), layer(4, 2)], Target()), r"for every layer of 3→2→4"),
        (([layer(3, 2), (np.ones((2, 4)), np.full(4, np.inf))], Target()), "not finite"),
        (([(np.full((3, 2), np.nan), np.ones(2)), layer(2, 4)], Target()), "not finite"),
    ],
    ids=["nothing", "no target", "a layer too few", "transposed", "infinite", "NaN"],
)
def test_what_an_initializer_gives_is_checked(monkeypatch, result, message):
    monkeypatch.setitem(INITIALIZERS, "mine", lambda sizes, rngs, inputs, activation: result)
    with pytest.raises(MinisigError, match=f"^init 'mine'.*{message}"):
        initialize("mine", (3, 2, 4), 0, None, Sigmoid())


def test_an_initializer_of_ones_own_is_taken_as_it_is(monkeypatch):
    weights, target = [layer(3, 2), layer(2, 4)], Target(std=2.0)
    monkeypatch.setitem(INITIALIZERS, "mine", lambda sizes, rngs, inputs, activation: (weights, target))
    found, account = initialize("mine", (3, 2, 4), 0, None, Sigmoid())
    assert found is weights
    assert [row.target for row in account.layers] == [target] * 2
