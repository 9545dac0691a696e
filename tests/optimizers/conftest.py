"""The parameters and gradients that every optimizer is tested with."""

import numpy as np
import pytest

from minisig.gradients import Outer, RowSum

STEPS = 40  # beyond two periods of momentum, and not at the end of one


@pytest.fixture
def problem():
    """Parameters and the factored gradients of every step."""
    rng = np.random.default_rng(0)
    params = {"dense0.W": rng.standard_normal((4, 3)), "dense0.b": rng.standard_normal(3)}
    steps = [(rng.standard_normal((6, 4)), rng.standard_normal((6, 3))) for _ in range(STEPS)]
    return params, [{"dense0.W": Outer(x, dz), "dense0.b": RowSum(dz)} for x, dz in steps]
