"""RMSprop against its formula."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.optimizers import RMSprop

BACKEND = get_backend("numpy", "float64")


@pytest.mark.parametrize("options", [{}, {"rho": 0.5, "epsilon": 1e-3}], ids=["default", "given"])
def test_rmsprop_divides_by_the_running_root_mean_square(problem, options):
    params, gradients = problem
    expected = {name: w.copy() for name, w in params.items()}
    v = {name: np.zeros_like(w) for name, w in params.items()}
    rho, epsilon = options.get("rho", 0.99), options.get("epsilon", 1e-8)
    optimizer = RMSprop(**options)
    for step in gradients:
        optimizer.update(params, step, BACKEND, learning_rate=0.01, scale=0.7)
        for name, gradient in step.items():
            g = 0.7 * gradient.dense(BACKEND)
            v[name] = rho * v[name] + (1 - rho) * g**2
            expected[name] -= 0.01 * g / (np.sqrt(v[name]) + epsilon)
    for name in params:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-12)
