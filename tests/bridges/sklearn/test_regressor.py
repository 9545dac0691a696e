"""SigmoidRegressor: numbers in their own units, one column or several."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'minisig[sklearn]'")
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minisig.bridges.sklearn import SigmoidRegressor

QUICK = {"max_iter": 60, "learning_rate": 0.1, "random_state": 0}


@pytest.fixture(scope="module")
def surface():
    """A curved surface over the square."""
    x = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    return x, x[:, 0] * x[:, 1] + np.sin(2 * x[:, 0])


def test_deep_networks_learn_with_ep_and_not_without(surface):
    x, y = surface
    options = {"max_iter": 60, "learning_rate": 0.02, "random_state": 0}
    assert SigmoidRegressor([30] * 6, **options).fit(x[:300], y[:300]).score(x[300:], y[300:]) > 0.9
    assert SigmoidRegressor([30] * 6, init="lecun", **options).fit(x[:300], y[:300]).score(x[300:], y[300:]) < 0.1


def test_predictions_are_the_network_s_outputs_in_the_targets_units(surface):
    x, y = surface
    y = 1e9 + 1e6 * y
    regressor = SigmoidRegressor([20], **QUICK).fit(x, y)
    assert regressor.score(x, y) > 0.9
    outputs = regressor.network_.forward(x)[:, 0]
    np.testing.assert_allclose(regressor.predict(x), y.mean() + y.std() * outputs, rtol=1e-12)
    assert abs(outputs.mean()) < 0.2
    assert outputs.std() == pytest.approx(1, abs=0.1)


def test_the_units_of_the_targets_change_nothing(surface):
    x, y = surface
    plain = SigmoidRegressor([20], max_iter=5, random_state=0).fit(x, y)
    other = SigmoidRegressor([20], max_iter=5, random_state=0).fit(x, 1000 - 50 * y)
    mirrored = SigmoidRegressor([20], max_iter=5, random_state=0).fit(x, 1000 + 50 * y)
    np.testing.assert_allclose(mirrored.loss_curve_, plain.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(mirrored.predict(x), 1000 + 50 * plain.predict(x), rtol=1e-9)
    assert other.loss_curve_ != plain.loss_curve_  # a weight's sign is not the data's


@pytest.mark.parametrize("columns", [(), (1,), (3,)])
def test_predictions_have_the_shape_of_the_targets(surface, columns):
    x, y = surface
    targets = y if columns == () else np.column_stack([y * 10**i for i in range(*columns)])
    regressor = SigmoidRegressor([20], **QUICK).fit(x, targets)
    assert regressor.predict(x[:7]).shape == (7, *columns)
    assert regressor.target_mean_.shape == regressor.target_std_.shape == (columns or (1,))
    assert min(r2_score(targets, regressor.predict(x), multioutput="raw_values")) > 0.8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_computes_in_the_dtype_of_the_inputs(surface, dtype):
    x, y = surface
    regressor = SigmoidRegressor([20], max_iter=2, random_state=0).fit(x.astype(dtype), y)
    assert {w.dtype for w in regressor.network_.params.values()} == {np.dtype(dtype)}
    assert regressor.predict(x.astype(dtype)).dtype == np.float64  # y may need it


def test_constant_targets_are_predicted(surface):
    x, y = surface
    targets = np.column_stack([np.full(400, 0.1), y])
    regressor = SigmoidRegressor([20], **QUICK).fit(x, targets)
    assert regressor.target_std_[0] == 1
    np.testing.assert_allclose(regressor.predict(x)[:, 0], 0.1, atol=0.2)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e155, 1e300])
def test_targets_may_be_of_any_size(surface, size):
    x, y = surface
    plain, other = (SigmoidRegressor([20], max_iter=3, random_state=0).fit(x, t) for t in (y, y * size))
    np.testing.assert_allclose(other.predict(x) / size, plain.predict(x), rtol=1e-7)
    with pytest.raises(ValueError, match="y: the numbers are too large"):
        SigmoidRegressor().fit(x, np.where(y > 0, 1.7e308, 0))


def test_targets_are_standardised_with_their_weights(surface):
    x, y = surface
    targets, weights = np.column_stack([y, y**2]), np.random.default_rng(1).integers(0, 4, 400)
    targets[:, 1][weights > 0] = 5.0  # constant where it counts
    targets[:, 1][weights == 0] = 1e300
    regressor = SigmoidRegressor([20], max_iter=1).fit(x, targets, sample_weight=weights)
    mean = np.average(y, weights=weights)
    np.testing.assert_allclose(regressor.target_mean_, [mean, 5.0], rtol=1e-12)
    np.testing.assert_allclose(regressor.target_std_, [np.average((y - mean) ** 2, weights=weights) ** 0.5, 1.0])


def test_partial_fit_goes_on_with_the_first_targets_units(surface):
    x, y = surface
    regressor = SigmoidRegressor([20], learning_rate=0.1, random_state=0).partial_fit(x[:200], y[:200])
    first = regressor.target_mean_, regressor.target_std_
    assert first == (pytest.approx(y[:200].mean()), pytest.approx(y[:200].std()))
    for _ in range(60):
        regressor.partial_fit(x[200:], y[200:])
    assert (regressor.target_mean_, regressor.target_std_) == first
    assert regressor.n_iter_ == len(regressor.loss_curve_) == 61
    assert regressor.score(x, y) > 0.9
    regressor.partial_fit(x[:1], y[:1])
    with pytest.raises(ValueError, match=r"y: expected targets \(N,\) as before, got \(N, 2\)"):
        regressor.partial_fit(x, np.column_stack([y, y]))


@pytest.mark.parametrize("weighted", [False, True])
def test_early_stopping_ends_and_keeps_the_weights_that_validated_best(surface, weighted):
    x, y = surface
    y = 50 + 10 * (y + np.random.default_rng(1).normal(size=400))
    weights = np.random.default_rng(2).uniform(0.1, 5, 400)
    regressor = SigmoidRegressor(
        [30], early_stopping=True, validation_fraction=0.3, learning_rate=0.3, n_iter_no_change=5, random_state=0
    ).fit(x, y, weights if weighted else None)
    losses = regressor.validation_losses_
    assert len(losses) == regressor.n_iter_ < 100
    assert np.argmin(losses) == len(losses) - 1 - 5
    random = np.random.RandomState(0)
    random.randint(2**31 - 1)  # the seed of the weights
    _, x_valid, _, y_valid, _, w_valid = train_test_split(x, y, weights, test_size=0.3, random_state=random)
    squares = ((regressor.predict(x_valid) - y_valid) / regressor.target_std_) ** 2
    assert min(losses) == pytest.approx(np.average(squares, weights=w_valid if weighted else None), rel=1e-9)


def test_it_works_in_a_pipeline_cross_validated_cloned_and_pickled(surface):
    x, y = surface
    pipeline = make_pipeline(StandardScaler(), SigmoidRegressor([20], **QUICK))
    assert cross_val_score(pipeline, x, y, cv=2).min() > 0.8
    fitted = clone(pipeline).fit(x, y)
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.predict(x), fitted.predict(x))
    back[-1].partial_fit(back[:-1].transform(x), y)  # what it needs to go on was pickled as well
    assert back[-1].n_iter_ == 61


def test_targets_that_are_no_numbers_are_refused(surface):
    x, y = surface
    for wrong in (["a"] * 400, np.where(y > 0, np.nan, y), y[:10]):
        with pytest.raises(ValueError, match=r"could not convert|contains NaN|inconsistent numbers"):
            SigmoidRegressor().fit(x, wrong)
