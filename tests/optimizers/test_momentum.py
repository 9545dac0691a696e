"""Momentum against the textbook's formula, in both precisions."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.gradients import Outer, RowSum
from minisig.optimizers import Momentum

BACKEND = get_backend("numpy", "float64")
SINGLE = get_backend("numpy", "float32")


def in_dtype_of(backend, gradients):
    W, b = gradients.values()
    return {"dense0.W": Outer(backend.asarray(W.x), backend.asarray(W.dz)), "dense0.b": RowSum(backend.asarray(b.dz))}


@pytest.mark.parametrize("backend", [BACKEND, SINGLE], ids=["float64", "float32"])
@pytest.mark.parametrize("momentum", [0.0, 0.01, 0.5, 0.7, 0.9, 0.99])
def test_momentum_is_the_textbook_formula(problem, momentum, backend):
    params, gradients = problem
    found = {name: backend.asarray(w).copy() for name, w in params.items()}
    v = {name: np.zeros_like(w) for name, w in params.items()}
    optimizer = Momentum(momentum)
    for t, step in enumerate(gradients):
        rate = 0.1 / (t + 1)
        optimizer.update(found, in_dtype_of(backend, step), backend, learning_rate=rate, scale=0.5)
        unit = momentum ** (optimizer.steps % optimizer.period)
        for name, g in step.items():
            v[name] = momentum * v[name] - rate * 0.5 * g.dense(BACKEND)
            params[name] += v[name]
            u = optimizer.slots[name]["u"]
            assert np.abs(u).max() < 1000 * np.abs(v[name]).max()  # or float32 would overflow with little momentum
            for array, right in ((u * unit, v[name]), (found[name], params[name])):
                rounding = len(gradients) * np.finfo(backend.dtype).eps * np.abs(right).max()
                np.testing.assert_allclose(array, right, rtol=0, atol=rounding, err_msg=f"{name} at step {t}")
