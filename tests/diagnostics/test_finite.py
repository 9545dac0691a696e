"""Where NaN or infinity appeared first."""

from dataclasses import replace

import numpy as np
import pytest

from minisig import mlp
from minisig.diagnostics.finite import first_not_finite


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_place_that_is_not_finite_is_named(batch, bad):
    net = mlp([64, 9, 8, 10])
    trace = net.trace(*batch)
    assert first_not_finite(net, trace) is None
    assert first_not_finite(net) is None
    for layer in ("dense0", "sigmoid1", "dense2"):
        spoilt = {name: y.copy() for name, y in trace.outputs.items()}
        for name in list(spoilt)[list(spoilt).index(layer) :]:
            spoilt[name].flat[-1] = bad
        assert first_not_finite(net, replace(trace, outputs=spoilt)) == f"the output of {layer}"
    for layer in ("dense0", "sigmoid1", "dense2"):  # backward: those nearer to the data come later
        spoilt = {name: delta.copy() for name, delta in trace.deltas.items()}
        for name in list(spoilt)[: list(spoilt).index(layer) + 1]:
            spoilt[name].flat[-1] = bad
        assert first_not_finite(net, replace(trace, deltas=spoilt)) == f"the gradient that reaches {layer}"
    net.params["dense2.W"].flat[3] = net.params["dense1.b"].flat[3] = bad
    assert first_not_finite(net) == first_not_finite(net, trace) == "dense1.b"
    with np.errstate(all="ignore"):
        assert first_not_finite(net, net.trace(*batch)) == "the output of dense1"
