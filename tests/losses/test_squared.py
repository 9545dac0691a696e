"""Mean squared error against a plain loop, and its metrics against textbook formulas."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.diagnostics.gradient_check import check_gradients
from minisig.errors import UsageError
from minisig.losses import MeanSquaredError
from minisig.network import mlp

BACKEND = get_backend("numpy", "float64")
LOSS = MeanSquaredError()


@pytest.mark.parametrize("shape", [(6, 4), (3, 2, 4), (5, 1)])
def test_the_loss_is_the_mean_over_everything(shape):
    rng = np.random.default_rng(0)
    z, t = rng.standard_normal(shape), rng.standard_normal(shape)
    loss, dz = LOSS(z, t, BACKEND)
    assert loss == pytest.approx(sum((z[at] - t[at]) ** 2 for at in np.ndindex(shape)) / z.size, rel=1e-13)
    np.testing.assert_allclose(dz, [2 * d / z.size for d in z - t], rtol=1e-14)


def test_the_gradient_of_a_regression_is_that_of_the_complex_step():
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((7, 4)), rng.standard_normal(7)
    assert check_gradients(mlp([4, 5, 1], loss="mean-squared-error"), x, t).error < 1e-10


def test_metrics_over_several_windows_are_those_of_all_predictions():
    rng = np.random.default_rng(0)
    t = rng.standard_normal((50, 2)) * [1.0, 30.0] + [5.0, -2.0]
    z = t + rng.standard_normal((50, 2))
    sums = {}
    for some in (slice(0, 20), slice(20, 50)):
        for name, value in LOSS.tally(z[some], t[some], BACKEND).items():
            sums[name] = sums.get(name, 0) + value
    score = LOSS.score(sums)
    assert list(score) == ["loss", "rmse", "mae", "r2"]
    assert score.rmse == pytest.approx(np.sqrt(((z - t) ** 2).mean()), rel=1e-12)
    assert score.rmse**2 == pytest.approx(score.loss, rel=1e-12)
    assert score.mae == pytest.approx(np.abs(z - t).mean(), rel=1e-12)
    r2 = 1 - ((z - t) ** 2).sum(axis=0) / ((t - t.mean(axis=0)) ** 2).sum(axis=0)
    assert score.r2 == pytest.approx(r2.mean(), rel=1e-10)


def test_targets_that_do_not_vary_explain_nothing():
    assert LOSS.score(LOSS.tally(np.ones((4, 1)), np.full((4, 1), 0.3), BACKEND)).r2 == 0.0


def test_targets_of_another_shape_are_refused():
    with pytest.raises(UsageError, match=r"expected targets of shape \(3, 2\), one for each output, got \(3,\)"):
        LOSS(np.zeros((3, 2)), [1.0, 2.0, 3.0], BACKEND)
