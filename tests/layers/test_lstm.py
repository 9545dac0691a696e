"""A mistake in the backward of the LSTM is caught; test_recurrent.py has what is right."""

from minisig import check_gradients
from minisig.layers import LSTM
from minisig.network import Network, recurrent
from tests.layers.sizes import H, V


class ForgetsTheCell(LSTM):
    def backward(self, dy, cache, backend):
        class Leaky:
            def __getattr__(self, name):
                return getattr(backend, name)

            def lstm_gates_backward(self, dh, dc, *others):
                backend.lstm_gates_backward(dh, dc, *others)
                dc[...] = 0.0

        return super().backward(dy, cache, Leaky())


def test_a_broken_backpropagation_through_an_lstm_is_caught(text):
    sound = recurrent(V, [H], model="lstm", init="glorot")
    layers = {
        name: ForgetsTheCell(**layer.params) if name == "lstm0" else layer for name, layer in sound.layers.items()
    }
    check = check_gradients(Network(list(layers.items()), sound.backend), *text)
    assert check.by_array["lstm0.Wh"].error > 1e-3
