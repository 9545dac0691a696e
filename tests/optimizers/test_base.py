"""What every optimizer does, whatever its formula."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.optimizers import OPTIMIZERS

BACKEND = get_backend("numpy", "float64")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_parameter_has_the_rate_of_its_own(problem, optimizer):
    params, gradients = problem
    whole, split = ({name: w.copy() for name, w in params.items()} for _ in range(2))
    together, apart = OPTIMIZERS[optimizer](), OPTIMIZERS[optimizer]()
    for step in gradients:
        together.update(whole, step, BACKEND, learning_rate=0.02)
        apart.update(split, step, BACKEND, learning_rate=0.04, rates={"dense0.W": 0.5, "dense0.b": 0.0})
    np.testing.assert_array_equal(split["dense0.W"], whole["dense0.W"])
    np.testing.assert_array_equal(split["dense0.b"], params["dense0.b"])


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values())
def test_parameters_are_updated_in_place(problem, optimizer):
    params, gradients = problem
    before = {name: (id(w), w.copy()) for name, w in params.items()}
    optimizer().update(params, gradients[0], BACKEND, learning_rate=0.1)
    for name, w in params.items():
        assert id(w) == before[name][0]
        assert not np.array_equal(w, before[name][1])
