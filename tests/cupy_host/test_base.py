"""The defaults of base.py on an array module that is not NumPy: they train as our own backend for it does."""

import cupy
import numpy as np
import pytest

from minisig.backends import Backend, get_backend
from minisig.optimizers import Adam, Momentum

from .arrays import close, draw, on_device
from .test_network import NETWORKS

pytestmark = pytest.mark.gpu


class Plain(Backend):
    xp = cupy

    def to_host(self, values):  # the one thing that NumPy cannot do with its arrays
        return cupy.asnumpy(values)


@pytest.mark.parametrize("optimizer", [Momentum, Adam])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_trains_on_plain_array_operations(name, optimizer):
    net, x, labels = NETWORKS[name]()
    trained = []
    for backend in (Plain("float64"), get_backend("cupy", "float64")):
        twin, make = net.on(backend), optimizer()
        for seed in range(3):
            trace = twin.trace(x, labels, np.random.default_rng(seed))
            scale = backend.clip_factor([g.norm(backend) for g in trace.gradients.values()], 0.3)
            make.update(twin.params, trace.gradients, backend, learning_rate=0.05, scale=scale)
        trained.append(twin.params)
    for key, w in trained[0].items():
        np.testing.assert_allclose(w.get(), trained[1][key].get(), rtol=0, atol=1e-9, err_msg=key)


def test_what_no_network_here_uses(dtype):
    plain, gpu = Plain(dtype), get_backend("cupy", dtype)
    images, at = on_device(draw(dtype, 3, 5, 6), 3 + draw(dtype, 2, 4, 3, 7, scale=3))
    close(plain.bilinear(images, at.copy(), -1.0), gpu.bilinear(images, at, -1.0).get(), dtype, terms=16)
    z, targets = on_device(draw(dtype, 6, 4), np.abs(np.tanh(draw(dtype, 6, 4, seed=1))))
    for loss in ("sigmoid_cross_entropy", "squared_error"):
        for mine, right in zip(getattr(plain, loss)(z, targets), getattr(gpu, loss)(z, targets), strict=True):
            close(mine, right.get(), dtype, terms=4)
    W, v, g = on_device(draw(dtype, 5, 4), np.square(draw(dtype, 5, 4, seed=1)), draw(dtype, 5, 4, seed=2))
    twins = W.copy(), v.copy()
    plain.rmsprop(W, v, g.copy(), 0.01, 0.9, 1e-3, cupy.array(0.3, dtype))
    gpu.rmsprop(*twins, g, 0.01, 0.9, 1e-3, cupy.array(0.3, dtype))
    for mine, right in zip((W, v), twins, strict=True):
        close(mine, right.get(), dtype, terms=4)
