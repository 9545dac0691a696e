"""Mistakes in the backward of the RNN are caught; test_recurrent.py has what is right."""

import pytest

from minisig import check_gradients
from minisig.gradients import Outer, RowSum, rows
from minisig.layers import RNN
from minisig.layers.lookup import affine_backward
from minisig.network import Network, recurrent
from tests.layers.sizes import H, V


class ForgetsDhNext(RNN):
    def backward(self, dy, cache, backend):
        dz = backend.sigmoid_backward(dy, cache.h[1:])
        dx, dWx = affine_backward(dz, cache.x, self.params["Wx"], backend)
        return dx, {"Wx": dWx, "Wh": Outer(rows(cache.h[:-1]), rows(dz)), "b": RowSum(rows(dz))}


class TakesTheWrongState(RNN):
    def backward(self, dy, cache, backend):
        dx, gradients = super().backward(dy, cache, backend)
        return dx, gradients | {"Wh": Outer(rows(cache.h[1:]), gradients["Wh"].dz)}


@pytest.mark.parametrize("broken", [ForgetsDhNext, TakesTheWrongState])
def test_a_broken_backpropagation_through_an_rnn_is_caught(text, broken):
    sound = recurrent(V, [H], model="rnn", init="random+ep")
    layers = {name: broken(**layer.params) if name == "rnn0" else layer for name, layer in sound.layers.items()}
    check = check_gradients(Network(list(layers.items()), sound.backend), *text)
    assert check.by_array["rnn0.Wh"].error > 1e-3
