"""SGD against its formula."""

import numpy as np

from minisig.backends import get_backend
from minisig.optimizers import SGD

BACKEND = get_backend("numpy", "float64")


def test_sgd_goes_down_the_gradient(problem):
    params, gradients = problem
    expected = {name: w - 0.1 * 0.7 * gradients[0][name].dense(BACKEND) for name, w in params.items()}
    SGD().update(params, gradients[0], BACKEND, learning_rate=0.1, scale=0.7)
    for name in params:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-14)
