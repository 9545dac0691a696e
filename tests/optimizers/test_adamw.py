"""AdamW against Adam."""

import numpy as np

from minisig.backends import get_backend
from minisig.optimizers import Adam, AdamW

BACKEND = get_backend("numpy", "float64")


def test_adamw_is_adam_on_weights_that_decay_first(problem):
    params, gradients = problem
    decaying = {name: w.copy() for name, w in params.items()}
    adam, adamw = Adam(), AdamW(weight_decay=0.3)
    for step in gradients:
        for w in params.values():
            w *= 1 - 0.01 * 0.3
        adam.update(params, step, BACKEND, learning_rate=0.01)
        adamw.update(decaying, step, BACKEND, learning_rate=0.01)
    for name in params:
        np.testing.assert_allclose(decaying[name], params[name], rtol=1e-13)
