"""How torch keeps its weights: a Linear, an Embedding, every layer of an RNN, LSTM or GRU as one cell, in our terms.

A torch weight is (m, n), ours (n, m). Its recurrent layers have two biases; what they add up to is ours, but for the
part of a GRU's second that its reset gate acts on, our c. The gates stand in the same order, i, f, g̃, o of an LSTM and
r, u, ñ of a GRU.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from minisig.activations import Activation, ReLU, Sigmoid, Softplus, Tanh
from minisig.errors import UsageError
from minisig.initializers.inputs import Matrix, Params
from minisig.layers import GRU, LSTM, RNN, Dense, Embedding

MATCHES: dict[Any, type[Activation]] = {nn.Sigmoid: Sigmoid, nn.Tanh: Tanh, nn.ReLU: ReLU, nn.Softplus: Softplus}
NO_ACTIVATIONS = (nn.Softmax, nn.LogSoftmax, nn.MultiheadAttention)  # though PyTorch keeps them among these


@dataclass(frozen=True)
class Cell:
    """One layer of weights of a module: a Linear, an Embedding, or a layer of an RNN, LSTM or GRU."""

    name: str
    module: Any
    ours: type  # the layer of minisig that it matches
    weights: dict[str, Any]  # by our names
    biases: list[Any]

    @property
    def inputs(self) -> int:
        return int(next(iter(self.weights.values())).shape[1])

    def read(self) -> Params:
        """The weights as ours, float64."""
        arrays = {key: host(w) for key, w in self.weights.items()}
        if self.ours is Embedding:
            return arrays
        params = {key: np.ascontiguousarray(w.T) for key, w in arrays.items()}
        m = next(iter(params.values())).shape[1]
        biases = [host(b) for b in self.biases]
        if self.ours is GRU:
            first, second = biases or np.zeros((2, m))
            n = 2 * m // 3  # where the part of ñ begins
            return params | {"b": first + np.append(second[:n], np.zeros(m - n)), "c": second[n:]}
        return params | {"b": sum(biases, np.zeros(m))}

    def write(self, params: Params) -> None:
        with torch.no_grad():
            for key, w in self.weights.items():
                w.copy_(torch.from_numpy(params[key] if self.ours is Embedding else params[key].T))
            if self.biases:
                first, *second = self.biases
                first.copy_(torch.from_numpy(params["b"]))
                for b in second:
                    b.zero_()
                    if self.ours is GRU:
                        b[-len(params["c"]) :] = torch.from_numpy(params["c"])


def cells_of(module: Any) -> Iterator[Cell]:
    """The module's layers of weights, in the order in which it was given them; attention keeps its own."""
    kept = {inner.out_proj for inner in module.modules() if isinstance(inner, nn.MultiheadAttention)}
    for name, inner in module.named_modules():
        if inner in kept:
            continue
        if isinstance(inner, nn.Linear):
            yield Cell(name or "Linear", inner, Dense, {"W": inner.weight}, [b for b in (inner.bias,) if b is not None])
        elif isinstance(inner, nn.Embedding):
            yield Cell(name, inner, Embedding, {"E": inner.weight}, [])
        elif isinstance(inner, nn.RNN | nn.LSTM | nn.GRU):
            if inner.bidirectional or inner.proj_size or getattr(inner, "nonlinearity", "tanh") != "tanh":
                raise UsageError(f"{name or inner}: only tanh RNNs, LSTMs and GRUs that go one way have a match here")
            for k in range(inner.num_layers):
                weights = {key: getattr(inner, f"weight_{w}_l{k}") for key, w in (("Wx", "ih"), ("Wh", "hh"))}
                biases = [getattr(inner, f"bias_{w}_l{k}") for w in ("ih", "hh")] if inner.bias else []
                ours: type = RNN if isinstance(inner, nn.RNN) else LSTM if isinstance(inner, nn.LSTM) else GRU
                yield Cell(f"{name}.l{k}".lstrip("."), inner, ours, weights, biases)


def is_activation(module: Any) -> bool:
    return type(module).__module__ == nn.ReLU.__module__ and not isinstance(module, NO_ACTIVATIONS)


def input_weights(params: Params) -> str:
    return "Wx" if "Wx" in params else "W"


def host(tensor: Any) -> Matrix:
    array: Matrix = tensor.detach().to("cpu", torch.float64).numpy().copy()
    return array
