"""The rectifier, where it bends."""

import numpy as np

from minisig.activations import (
    ReLU,
)


def test_a_rectifier_is_flat_at_zero():
    np.testing.assert_array_equal(ReLU().value(np.array([-1.0, 0.0, 2.0])), [0, 0, 2])
    np.testing.assert_array_equal(ReLU().derivative(np.array([-1.0, 0.0, 2.0])), [0, 0, 1])
