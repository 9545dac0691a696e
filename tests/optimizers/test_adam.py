"""Adam against the algorithm of its paper."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.optimizers import Adam

BACKEND = get_backend("numpy", "float64")


@pytest.mark.parametrize(("options", "epsilon"), [({}, 1e-8), ({"epsilon": 1e-3}, 1e-3)], ids=["default", "given"])
def test_adam_is_algorithm_1_of_kingma_and_ba(problem, options, epsilon):
    params, gradients = problem
    expected = {name: w.copy() for name, w in params.items()}
    m = {name: np.zeros_like(w) for name, w in params.items()}
    v = {name: np.zeros_like(w) for name, w in params.items()}
    optimizer = Adam(**options)
    for t, step in enumerate(gradients, start=1):
        optimizer.update(params, step, BACKEND, learning_rate=0.01, scale=0.7)
        for name, gradient in step.items():
            g = 0.7 * gradient.dense(BACKEND)
            m[name] = 0.9 * m[name] + 0.1 * g
            v[name] = 0.999 * v[name] + 0.001 * g**2
            m_hat, v_hat = m[name] / (1 - 0.9**t), v[name] / (1 - 0.999**t)
            expected[name] -= 0.01 * m_hat / (np.sqrt(v_hat) + epsilon)
    for name in params:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-12)
