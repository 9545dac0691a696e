"""Weights to and fro between a network and a torch module with the same layers.

torch has no RNN of sigmoids, but tanh(z/2) = 2 g(z) − 1: with u = 2h − 1 for the state h, and u = 0 for its start ½,

    h_t = g(x Wx + h Wh + b)   is   u_t = tanh(x Wx/2 + u Wh/4 + b/2 + ΣWh/4)

so that a sigmoid RNN is an nn.RNN, exactly, once the layer above it takes u for h.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from minisig.activations import Erf, ScaledTanh
from minisig.backends import Array
from minisig.bridges.torch.cells import MATCHES, Cell, cells_of, input_weights, is_activation
from minisig.errors import UsageError
from minisig.layers import RNN, Dropout
from minisig.network import Network

FUNCTIONS: dict[type, str] = {ScaledTanh: "1.7159 tanh(2z/3)", Erf: "torch.erf"}  # of which torch has no module


def to_torch(net: Network, module: Any) -> None:
    """Copy the weights of `net` into `module`, which has the same layers in the same order.

    Activations must be the same as well; those that the module applies as functions cannot be seen.

    >>> import minisig as ms, torch
    >>> from torch import nn
    >>> net = ms.mlp([4, 5, 3], dtype="float64")
    >>> module = nn.Sequential(nn.Linear(4, 5), nn.Sigmoid(), nn.Linear(5, 3)).double()
    >>> to_torch(net, module)
    >>> x = np.eye(4)
    >>> bool(np.allclose(module(torch.from_numpy(x)).detach(), net.forward(x)))
    True
    """
    after_sigmoid_rnn = False
    found = []
    for _, layer, cell in _matched(net, module):
        params = {key: net.backend.to_host(w).astype(np.float64) for key, w in layer.params.items()}
        if after_sigmoid_rnn:
            key = input_weights(params)
            params |= {key: params[key] / 2, "b": params["b"] + params[key].sum(axis=0) / 2}
        if cell.ours is RNN:
            Wx, Wh, b = params["Wx"], params["Wh"], params["b"]
            params = {"Wx": Wx / 2, "Wh": Wh / 4, "b": b / 2 + Wh.sum(axis=0) / 4}
        if not cell.biases and any(params[key].any() for key in ("b", "c") if key in params):
            raise UsageError(f"{cell.name} has no bias to take that of the network; make it with bias=True")
        after_sigmoid_rnn = cell.ours is RNN
        found.append((cell, params))
    for cell, params in found:
        cell.write(params)


def from_torch(module: Any, net: Network) -> None:
    """Copy the weights of `module` into `net`, which has the same layers in the same order.

    Activations must be the same as well; those that the module applies as functions cannot be seen.

    >>> import minisig as ms, torch
    >>> from torch import nn
    >>> module = nn.Sequential(nn.Linear(4, 5), nn.Sigmoid(), nn.Linear(5, 3))
    >>> net = ms.mlp([4, 5, 3])
    >>> from_torch(module, net)
    >>> bool((net.params["dense0.W"] == module[0].weight.detach().numpy().T).all())
    True
    """
    after_sigmoid_rnn = False
    found: dict[str, Array] = {}
    for name, _, cell in _matched(net, module):
        params = cell.read()
        if cell.ours is RNN:
            Wx, Wh, b = 2 * params["Wx"], 4 * params["Wh"], 2 * params["b"]
            params = {"Wx": Wx, "Wh": Wh, "b": b - Wh.sum(axis=0) / 2}
        if after_sigmoid_rnn:
            key = input_weights(params)
            params |= {key: 2 * params[key], "b": params["b"] - params[key].sum(axis=0)}
        after_sigmoid_rnn = cell.ours is RNN
        found |= {f"{name}.{key}": net.backend.asarray(w) for key, w in params.items()}
    net.load(found)


def _matched(net: Network, module: Any) -> Iterator[tuple[str, Any, Cell]]:
    """Name and layer of the network with the cell of the module that matches it."""
    layers = {name: layer for name, layer in net.layers.items() if layer.params}
    cells = list(cells_of(module))
    known = {id(w) for cell in cells for w in [*cell.weights.values(), *cell.biases]}
    if strangers := [name for name, w in module.named_parameters() if id(w) not in known]:
        raise UsageError(f"no layer of the network matches the module's {', '.join(strangers[:5])}")
    if [type(layer) for layer in layers.values()] != [cell.ours for cell in cells]:
        ours = ", ".join(f"{name} ({type(layer).__name__})" for name, layer in layers.items())
        theirs = ", ".join(f"{cell.name} ({cell.ours.__name__})" for cell in cells)
        raise UsageError(f"the network has {ours}, the module {theirs}: they must be the same in the same order")
    _require_activations(net, module)
    for (name, layer), cell in zip(layers.items(), cells, strict=True):
        need, have = ({key: w.shape for key, w in params.items()} for params in (layer.params, cell.read()))
        if need != have:
            raise UsageError(f"{name} has the shapes {need}, the module's {cell.name} in our order {have}")
        yield name, layer, cell


def _require_activations(net: Network, module: Any) -> None:
    """Refuse activations that can be seen not to be the network's; one module may be called in several places."""
    ours = [type(layer) for layer in net.layers.values() if not layer.params and not isinstance(layer, Dropout)]
    if not {*ours} <= {*MATCHES.values(), *FUNCTIONS}:
        return  # a layer of one's own may match anything
    left = Counter(ours)
    for name, inner in module.named_modules():
        if not is_activation(inner):
            continue
        kind = MATCHES.get(type(inner))
        if kind is None or not left[kind] or getattr(inner, "beta", 1) != 1:  # that of a Softplus
            has = " and ".join(f"{n} {own.__name__}" for own, n in Counter(ours).items()) or "no activation"
            remedy = "they must be the same"
            if missing := next((own for own in FUNCTIONS if own in ours), None):
                remedy = f"torch has no {missing.__name__}, apply {FUNCTIONS[missing]} as a function"
            raise UsageError(
                f"the module's {name} is a {str(inner).removesuffix('()')}, but the network has {has}: {remedy}"
            )
        left[kind] -= 1
