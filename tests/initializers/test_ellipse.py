"""The projection onto Σ d_i w_i² = c: nearest, exact, and defined in every corner."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from minisig.errors import UsageError
from minisig.initializers import project

C = np.pi / 2


def column(*weights):
    return np.array(weights)[:, None]


def miss(w, variances, c=C):
    """Largest relative error of the constraint."""
    return np.abs(np.asarray(variances) @ w**2 / c - 1).max()


def nearest_by_slsqp(start, variances, rng):
    """The best of many local searches, each result moved exactly onto the ellipse."""
    constraint = {
        "type": "eq",
        "fun": lambda w: variances @ w**2 - C,
        "jac": lambda w: 2 * variances * w,
    }
    found = []
    for guess in rng.normal(scale=2, size=(12, len(start))):
        w = minimize(
            lambda w: ((w - start) ** 2).sum(),
            guess,
            jac=lambda w: 2 * (w - start),
            method="SLSQP",
            constraints=constraint,
            options={"ftol": 1e-14, "maxiter": 200},
        ).x
        energy = variances @ w**2
        if energy > 0:
            found.append(np.linalg.norm(w * np.sqrt(C / energy) - start))
    return min(found)


@pytest.mark.parametrize("kind", ["general", "short", "long", "constant inputs", "hard", "shared largest"])
@pytest.mark.parametrize("seed", range(4))
def test_no_local_search_finds_a_nearer_point(kind, seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed
    W, variances = rng.normal(size=(n, 1)), rng.uniform(0.1, 2, n)
    if kind == "short":
        W *= 1e-2
    elif kind == "long":
        W *= 1e2
    elif kind == "constant inputs":
        variances[0] = 0
    elif kind == "hard":
        W *= 0.1
        W[variances.argmax()] = 0
    elif kind == "shared largest":
        variances[:2] = 3
    w = project(W, variances, C)
    distance, by_search = np.linalg.norm(w - W), nearest_by_slsqp(W[:, 0], variances, rng)
    assert miss(w, variances) < 1e-10
    assert distance <= by_search + 1e-9
    assert by_search == pytest.approx(distance, rel=1e-3)  # the search does get there: it is a fair opponent


@st.composite
def problems(draw):
    n, m = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    variances = 10 ** rng.uniform(-12, draw(st.integers(-12, 6)), n)
    variances[draw(st.lists(st.integers(0, n - 1), max_size=n - 1))] = 0
    variances[draw(st.integers(0, n - 1))] = draw(st.sampled_from([variances.max() or 1.0, 1e6, 1e-12]))
    scale = 10.0 ** draw(st.integers(-100, 100))
    W = scale * rng.normal(size=(n, m)) * 10 ** rng.uniform(-draw(st.integers(0, 40)), 0, (n, m))
    W[draw(st.lists(st.integers(0, n - 1), max_size=n))] = 0
    return W, variances, 10 ** draw(st.floats(-3, 3))


@settings(max_examples=500, deadline=None)
@given(problems())
def test_the_constraint_holds_and_plain_scaling_is_no_nearer_whatever_the_sizes_and_scales(problem):
    W, variances, c = problem
    w = project(W, variances, c)
    assert miss(w, variances, c) < 1e-10
    assert (w * W >= 0).all()  # the nearest point lies in the same orthant
    np.testing.assert_array_equal(w[variances == 0], W[variances == 0])

    energy = variances @ W**2
    some = energy > 0  # zeros cannot be scaled
    rival = np.where(variances[:, None] > 0, W * np.sqrt(c / np.where(some, energy, c)), W)
    distance, rivals, rounding = (np.linalg.norm(v, axis=0) for v in (w - W, rival - W, 1e-12 * (abs(w) + abs(W))))
    assert (distance <= rivals + rounding)[some].all()


def test_constant_inputs_keep_their_weights():
    W = np.random.default_rng(0).normal(size=(5, 40))
    variances = np.array([0.0, 1.0, 0.0, 0.3, 2.0])
    w = project(W, variances, C)
    np.testing.assert_array_equal(w[[0, 2]], W[[0, 2]])
    assert miss(w, variances) < 1e-10


@pytest.mark.parametrize("variance", [1e-12, 0.0589598258, 1e6])
def test_equal_variances_reduce_to_plain_scaling(variance):
    W = np.random.default_rng(0).normal(size=(30, 20))
    w = project(W, np.full(30, variance), C)
    np.testing.assert_allclose(w, W * np.sqrt(C / variance) / np.linalg.norm(W, axis=0), rtol=1e-12)


def test_a_single_input_is_scaled():
    np.testing.assert_allclose(project(column(-3.0), [2.0], C), column(-np.sqrt(C / 2)), rtol=1e-12)


def test_each_neuron_is_projected_on_its_own():
    rng = np.random.default_rng(0)
    W, variances = rng.normal(size=(6, 9)), rng.uniform(0, 2, 6)
    W[variances.argmax(), :3] = 0
    W[:, :2] *= 0.01  # two in the hard case, one without weight on the largest but long, six in general position
    np.testing.assert_allclose(
        project(W, variances, C), np.hstack([project(w[:, None], variances, C) for w in W.T]), rtol=1e-9
    )


@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.999])
def test_in_the_hard_case_the_missing_variance_goes_to_the_largest_input(fraction):
    # λ = −1/d_max doubles the weight of an input of half the variance; φ has this fraction of c there.
    w = project(column(0.0, np.sqrt(fraction * C / 2)), [1.0, 0.5], C)
    np.testing.assert_allclose(np.abs(w), np.sqrt(column((1 - fraction) * C, fraction * C * 2)), rtol=1e-9)


@pytest.mark.parametrize("fraction", [1.001, 1.5, 1e4])
def test_without_weight_on_the_largest_input_a_long_vector_is_no_hard_case(fraction):
    w = project(column(0.0, np.sqrt(fraction * C / 2)), [1.0, 0.5], C)
    np.testing.assert_allclose(w, column(0.0, np.sqrt(2 * C)), rtol=1e-12)


@pytest.mark.parametrize("beyond", [-1e-4, -1e-12, 0.0, 1e-15, 1e-12, 1e-8, 1e-4])
@pytest.mark.parametrize("little", [1e-6, 1e-30, 1e-140])
def test_between_the_hard_case_and_the_others_the_root_is_still_found(beyond, little):
    # φ crosses c where the term of the largest input gives way to the rest: Newton's longest way.
    w = project(column(little, np.sqrt((1 + beyond) * C / 2)), [1.0, 0.5], C)
    assert miss(w, [1.0, 0.5]) < 1e-10


@pytest.mark.parametrize("little", [1e-4, 1e-9, 1e-12, 1e-15, 1e-17, 1e-30, 1e-100, 1e-150, 1e-160, 1e-200, 1e-310])
@pytest.mark.parametrize("sign", [-1, 1])
def test_nearly_hard_cases_approach_the_hard_one(little, sign):
    w = project(column(sign * little, 0.1), [1.0, 0.5], C)
    assert miss(w, [1.0, 0.5]) < 1e-10
    # d w₂ / d t = 0.2 and t ≈ little: the answer is that far from the limit.
    np.testing.assert_allclose(np.abs(w), column(np.sqrt(C - 0.5 * 0.2**2), 0.2), rtol=1e-12, atol=2 * little)


@pytest.mark.parametrize("little", [1e-4, -1e-4, 1e-12, -1e-12, 1e-30, -1e-30])
def test_nearly_hard_cases_stay_on_their_side_of_the_ellipse(little):
    w = project(column(little, 0.1), [1.0, 0.5], C)
    assert np.sign(w[0, 0]) == np.sign(little)


@pytest.mark.parametrize(
    "W",
    [
        column(0.0, 0.0, 0.1),
        column(1e-12, -1e-12, 0.1),
        column(1e-12, 0.0, 0.1),
        column(1e-200, -1e-200, 0.1),
        column(0.0, 1e-200, 0.1),
        column(0.0, 0.0, 0.0),
    ],
)
def test_largest_inputs_may_share_the_missing_variance(W):
    variances = np.array([1.0, 1.0, 0.5])
    w = project(W, variances, C)
    assert miss(w, variances) < 1e-10
    assert w[2, 0] == pytest.approx(2 * W[2, 0], rel=1e-9)
    shortest = np.sqrt(C - variances[2] * w[2, 0] ** 2)  # all else on the two largest, in any direction
    assert np.linalg.norm(w[:2]) == pytest.approx(shortest, rel=1e-9)


@pytest.mark.parametrize("variances", [[2.0], [1.0, 3.0, 0.0], [3.0, 3.0, 3.0]])
def test_zero_weights_move_the_shortest_way(variances):
    w = project(np.zeros((len(variances), 2)), variances, C)
    assert miss(w, variances) < 1e-10
    np.testing.assert_allclose(np.linalg.norm(w, axis=0), np.sqrt(C / max(variances)), rtol=1e-12)


def test_a_layer_of_mnists_size_is_projected():
    rng = np.random.default_rng(0)
    W, variances = rng.uniform(-1, 1, (784, 2500)), rng.uniform(size=784)
    variances[rng.permutation(784)[:67]] = 0  # as many pixels are constant over the training set
    w = project(W, variances, C)
    assert miss(w, variances) < 1e-10
    np.testing.assert_array_equal(w[variances == 0], W[variances == 0])
    factor = W[variances > 0] / w[variances > 0]  # 1 + λ d_i, with one λ ≥ −1/d_max for each neuron
    lam = (factor - 1) / variances[variances > 0][:, None]
    np.testing.assert_allclose(lam, np.broadcast_to(np.median(lam, axis=0), lam.shape), rtol=1e-8)
    assert (factor > 0).all()


@pytest.mark.parametrize(
    ("W", "variances", "c", "message"),
    [
        (np.ones((2, 3)), [0.0, 0.0], C, "all inputs are constant"),
        (np.ones((2, 3)), [1.0, -1e-9], C, "variances must not be negative"),
        (np.ones((2, 3)), [1.0, np.nan], C, "must be finite"),
        (np.ones((2, 3)), [1.0, np.inf], C, "must be finite"),
        (np.full((2, 3), np.nan), [1.0, 1.0], C, "must be finite"),
        (np.ones((2, 3)), [1.0, 1.0], np.nan, "must be finite"),
        (np.ones((2, 3)), [1.0, 1.0], 0.0, "c > 0"),
        (np.ones((2, 3)), [1.0, 1.0, 1.0], C, r"\(2, 3\) need \(2,\) variances, got \(3,\)"),
        (np.ones((2, 3)), [[1.0], [1.0]], C, r"got \(2, 1\)"),
        (np.ones(2), [1.0, 1.0], C, r"weights \(2,\)"),
    ],
)
def test_problems_without_a_solution_are_refused(W, variances, c, message):
    with pytest.raises(UsageError, match=message):
        project(W, variances, c)
