"""Factored gradients against the matrices they stand for."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.errors import UsageError
from minisig.gradients import Evaluated, Outer, Rows, RowSum, evaluated, global_norm, layer_norms

BACKEND = get_backend("numpy", "float64")


def naive(gradient):
    if isinstance(gradient, Evaluated):
        return gradient.array
    if isinstance(gradient, Rows):
        return np.array([gradient.values[gradient.rows == token].sum(axis=0) for token in range(gradient.count)])
    if isinstance(gradient, RowSum):
        return np.array([sum(column) for column in gradient.dz.T])
    return np.array([[sum(a * b) for b in gradient.dz.T] for a in gradient.x.T])


@pytest.fixture(params=["gram", "direct", "bias", "table", "array"])
def gradient(request):
    rng = np.random.default_rng(0)
    if request.param == "bias":
        return RowSum(rng.standard_normal((7, 3)))
    if request.param == "table":
        return Rows(np.array([1, 3, 1, 0]), rng.standard_normal((4, 3)), 5)  # a token twice, two of them never
    if request.param == "array":
        return Evaluated(rng.standard_normal((5, 3)))
    batch = {"gram": 11, "direct": 12}[request.param]  # of the norm, see below
    return Outer(rng.standard_normal((batch, 11)), rng.standard_normal((batch, 13)))


def test_dense_is_the_sum_over_the_batch(gradient):
    np.testing.assert_allclose(gradient.dense(BACKEND), naive(gradient), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("beta", [0.9, 1.0])
def test_accumulate_is_alpha_gradient_plus_beta_array(gradient, beta):
    into = np.random.default_rng(1).standard_normal(naive(gradient).shape)
    expected = -0.3 * naive(gradient) + beta * into
    gradient.accumulate(into, alpha=-0.3, beta=beta, backend=BACKEND)
    np.testing.assert_allclose(into, expected, rtol=1e-12, atol=1e-13)


def test_norm_is_that_of_the_matrix(gradient):
    assert gradient.norm(BACKEND) == pytest.approx(np.sqrt((naive(gradient) ** 2).sum()), rel=1e-12)


@pytest.mark.parametrize(("batch", "through_gram"), [(3, True), (11, True), (12, False), (40, False)])
def test_the_norm_takes_the_form_that_needs_fewer_products(batch, through_gram):
    class Watched(NumpyBackend):
        grams = 0

        def gram_norm(self, x, dz):
            self.grams += 1
            return super().gram_norm(x, dz)

    backend = Watched("float64")
    Outer(np.ones((batch, 11)), np.ones((batch, 13))).norm(backend)  # B² (11 + 13) / 2 or B · 11 · 13: equal at 11.9
    assert backend.grams == through_gram


@pytest.mark.parametrize("size", [1e-38, 1e-41, 1e-44])  # the first is the last with all its digits
def test_norm_of_a_gradient_at_the_end_of_float32_is_not_lost(size):
    rng = np.random.default_rng(0)
    x, dz = rng.uniform(0.5, 1, (3, 20)).astype("float32"), (size * rng.choice([-1, 1], (3, 20))).astype("float32")
    exact = np.linalg.norm(x.astype("float64").T @ dz.astype("float64"))
    assert Outer(x, dz).norm(get_backend()) == pytest.approx(exact, rel=1e-5)


def test_norm_of_a_vanishing_float32_gradient_does_not_underflow():
    tiny = np.full((4, 3), 1e-30, dtype=np.float32)
    assert RowSum(tiny).norm(BACKEND) == pytest.approx(4e-30 * np.sqrt(3), rel=1e-6)
    wide = Outer(np.ones((2, 50), np.float32), np.full((2, 40), 1e-22, np.float32))
    single = get_backend("numpy")
    assert wide.norm(single) == pytest.approx(2e-22 * np.sqrt(50 * 40), rel=1e-6)


@pytest.mark.parametrize("steps", [1, 2])
def test_norms_of_vanishing_float32_samples_do_not_underflow(steps):
    x, dz = np.ones((steps * 4, 5), np.float32), np.full((steps * 4, 3), 1e-25, np.float32)
    for gradient, entries in ((Outer(x, dz), 5 * 3), (RowSum(dz), 3)):
        norms = gradient.sample_norms(4, get_backend("numpy"))
        np.testing.assert_allclose(norms, [steps * 1e-25 * np.sqrt(entries)] * 4, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-38, 1e-30, 1e-22, 1e18, 1e30])
def test_the_gram_form_of_the_norm_survives_extreme_gradients(size):
    rng = np.random.default_rng(0)
    x, dz = rng.standard_normal((3, 50)), rng.standard_normal((3, 40))
    tiny = Outer(x.astype("f4"), (size * dz).astype("f4"))
    # Denormal numbers below 1e-38 have few digits left.
    assert tiny.norm(get_backend("numpy")) == pytest.approx(
        size * np.linalg.norm(x.T @ dz), rel=1e-5 if size > 1e-37 else 1e-2
    )


def test_a_gradient_that_cancels_exactly_has_norm_zero_not_nan():
    x, dz = np.ones((2, 50), np.float32), np.concatenate([np.ones((1, 40)), -np.ones((1, 40))]).astype(np.float32)
    assert Outer(x, dz).norm(get_backend("numpy")) == 0.0


def test_samples_whose_steps_cancel_have_next_to_no_norm_and_not_nan():
    rng, samples, n, m = np.random.default_rng(0), 100, 5, 4
    x, dz = np.tile(rng.standard_normal((samples, n)), (3, 1)), rng.standard_normal((3, samples, m))
    dz[2] = -dz[0] - dz[1]  # but for rounding, which leaves sums on either side of zero
    norms = Outer(x, dz.reshape(-1, m)).sample_norms(samples, BACKEND)
    sizes = np.linalg.norm(x[:samples], axis=1) * np.linalg.norm(dz, axis=(0, 2))
    assert (norms < 10 * np.sqrt(np.finfo(float).eps) * sizes).all()


def test_an_array_does_not_know_what_each_sample_added():
    with pytest.raises(UsageError, match="no longer knows what each example added"):
        Evaluated(np.ones((5, 3))).sample_norms(1, BACKEND)


@pytest.mark.parametrize("norm", [1e200, np.inf])
def test_norms_too_large_to_be_squared_are_no_exception(norm):
    assert layer_norms({"dense0.W": norm, "dense0.b": 1.0}) == {"dense0": norm}
    assert global_norm({"dense0.W": norm, "dense0.b": 1.0}) == norm


def test_norms_of_layers_and_of_everything_are_root_sums_of_squares():
    by_parameter = {"dense0.W": 3.0, "dense0.b": 4.0, "dense1.W": 12.0}
    assert layer_norms(by_parameter) == {"dense0": 5.0, "dense1": 12.0}
    assert global_norm(by_parameter) == 13.0


def test_a_layers_name_may_have_a_point_in_it():
    by_parameter = {"block.1.W": 3.0, "block.1.b": 4.0, "block.2.W": 12.0}
    assert layer_norms(by_parameter) == {"block.1": 5.0, "block.2": 12.0}


def test_a_dense_gradient_lies_by_rows_as_its_parameter_does():
    x, dz = np.ones((700, 150), np.float32), np.ones((700, 2000), np.float32)
    assert Outer(x, dz).dense(get_backend("numpy")).flags.c_contiguous


def test_an_array_handed_in_is_overwritten_only_if_nobody_reads_it_again():
    backend, g = get_backend("numpy"), np.ones(3, np.float32)
    assert Evaluated(g).dense(backend) is not g
    assert Evaluated(g, spare=True).dense(backend) is g


def test_gradients_of_small_parameters_are_made_and_the_others_stay_factored():
    gradients = {"W": Outer(np.ones((5, 3)), np.ones((5, 4))), "b": RowSum(np.ones((5, 13)))}
    params = {name: g.dense(BACKEND) for name, g in gradients.items()}
    assert evaluated(gradients, params, 11, BACKEND) == gradients
    found = evaluated(gradients, params, 12, BACKEND)
    assert list(found) == ["W", "b"]
    assert (type(found["W"]), found["b"]) == (Evaluated, gradients["b"])
    np.testing.assert_array_equal(found["W"].array, np.full((3, 4), 5.0))
