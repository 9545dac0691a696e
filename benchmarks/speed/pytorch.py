"""PyTorch as its users write it, in eager mode and compiled, with the fastest of its own optimizers and losses.

A network of recurrent sigmoids must be a loop. As it is mostly written a cell takes x_t and h at every step ("cells");
it is faster with the products of all inputs made beforehand. The tanh RNN and the LSTM are the built-in ones, whose
second bias, which is redundant, stays 0.
"""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.speed.workloads import Case, Step
from minisig.layers import LSTM, RNN, Dense, Embedding

Wiring = Callable[[Any], Any]


def step_of(case: Case) -> Step:
    return Trained(case).step()


def tanh_step_of(case: Case) -> Step:
    return Trained(case, "tanh").step()


def cells_step_of(case: Case) -> Step:
    return Trained(case, "cells").step()


def compiled_step_of(case: Case) -> Step:
    return Trained(case, wire=torch.compile).step()


def tracked_step_of(case: Case) -> Callable[[], Callable[[], Any]]:
    """A step that returns what takes the norm of every parameter's gradient."""
    trained = Trained(case)

    def run() -> Callable[[], Any]:
        trained.run()
        return lambda: torch.stack(torch._foreach_norm([p.grad for p in trained.parameters])).tolist()

    return run


class Trained:
    def __init__(self, case: Case, activation: str = "sigmoid", wire: Wiring = lambda function: function) -> None:
        self.model = model_of(case, activation)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = optimizer_of(case, self.parameters)
        self.clip = case.config.optimizer.clip
        self.loss_of = wire(self._loss)
        tensors = [(_tensor(case, b.x), torch.from_numpy(b.labels).reshape(-1), b.fresh) for b in case.batches]
        self.batches = cycle(tensors)
        self.state: Any = None

    def step(self) -> Step:
        return Step(self.run, lambda: _params(self.model))

    def run(self) -> Any:
        x, labels, fresh = next(self.batches)
        self.optimizer.zero_grad(set_to_none=True)
        loss, self.state = self.loss_of(x, labels, None if fresh else self.state)
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        return loss

    def _loss(self, x: Any, labels: Any, state: Any) -> tuple[Any, Any]:
        z, state = _forward(self.model, x, state)
        return F.cross_entropy(z, labels), state


def model_of(case: Case, activation: str = "sigmoid") -> Any:
    """The same network with the same weights."""
    modules = nn.ModuleDict()
    for name, layer in case.net.layers.items():
        p = {key: torch.from_numpy(w).clone() for key, w in layer.params.items()}
        if isinstance(layer, Embedding):
            modules[name] = nn.Embedding.from_pretrained(p["E"], freeze=False)
        elif isinstance(layer, Dense):
            modules[name] = _dense(p["W"], p["b"])
        elif isinstance(layer, RNN) and activation == "cells":
            modules[name] = nn.ModuleDict({"x": _dense(p["Wx"], p["b"]), "h": _dense(p["Wh"])})
        elif isinstance(layer, RNN) and activation == "sigmoid":
            modules[name] = nn.ParameterDict(p)
        elif isinstance(layer, RNN | LSTM):
            modules[name] = _built_in(nn.RNN if isinstance(layer, RNN) else nn.LSTM, p)
        else:
            modules[name] = nn.Sigmoid()
    return modules


def optimizer_of(case: Case, parameters: list[Any]) -> Any:
    wanted: Any = case.config.optimizer
    if wanted.name == "momentum":
        return torch.optim.SGD(parameters, lr=wanted.learning_rate, momentum=wanted.momentum, fused=True)
    return torch.optim.Adam(parameters, lr=wanted.learning_rate, fused=True)


def _forward(model: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """Logits (rows, C), and the state to go on from."""
    for module in model.values():
        if isinstance(module, nn.ParameterDict):
            x, state = _sigmoid_rnn(module, x, state)
        elif isinstance(module, nn.ModuleDict):
            x, state = _cells(module, x, state)
        elif isinstance(module, nn.RNN):
            x, state = module(x, state)
            state = state.detach()
        elif isinstance(module, nn.LSTM):
            x, state = module(x, state)
            state = tuple(part.detach() for part in state)
        else:
            x = module(x)
    return x.flatten(0, -2), state


def _sigmoid_rnn(p: Any, x: Any, state: Any) -> tuple[Any, Any]:
    T, B, _ = x.shape
    z = torch.addmm(p["b"], x.flatten(0, 1), p["Wx"]).view(T, B, -1)
    h = torch.full_like(z[0], 0.5) if state is None else state
    states = []
    for z_t in z.unbind():
        h = torch.sigmoid(torch.addmm(z_t, h, p["Wh"]))
        states.append(h)
    return torch.stack(states), h.detach()


def _cells(cell: Any, x: Any, state: Any) -> tuple[Any, Any]:
    h = x.new_full((x.shape[1], cell["h"].out_features), 0.5) if state is None else state
    states = []
    for x_t in x:
        h = torch.sigmoid(cell["x"](x_t) + cell["h"](h))
        states.append(h)
    return torch.stack(states), h.detach()


def _dense(W: Any, b: Any = None) -> Any:
    layer = nn.Linear(*W.shape, bias=b is not None, dtype=W.dtype)
    with torch.no_grad():
        layer.weight.copy_(W.T)
        if b is not None:
            layer.bias.copy_(b)
    return layer


def _built_in(kind: Any, p: dict[str, Any]) -> Any:
    n, H = len(p["Wx"]), len(p["Wh"])
    layer = kind(n, H, dtype=p["Wx"].dtype)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(p["Wx"].T)
        layer.weight_hh_l0.copy_(p["Wh"].T)
        layer.bias_ih_l0.copy_(p["b"])
        layer.bias_hh_l0.zero_()
    layer.bias_hh_l0.requires_grad_(False)
    return layer


# What our parameters are called there, and whether they lie transposed.
NAMES = {
    "x.weight": ("Wx", True),
    "h.weight": ("Wh", True),
    "x.bias": ("b", False),
    "weight_ih_l0": ("Wx", True),
    "weight_hh_l0": ("Wh", True),
    "bias_ih_l0": ("b", False),
    "bias": ("b", False),
}


def _params(model: Any) -> dict[str, Any]:
    found = {}
    for full, p in model.named_parameters():
        layer, _, name = full.partition(".")
        if not p.requires_grad:
            continue
        if name == "weight":
            name, transposed = ("E", False) if isinstance(model[layer], nn.Embedding) else ("W", True)
        else:
            name, transposed = NAMES.get(name, (name, False))
        w = p.detach()
        found[f"{layer}.{name}"] = (w.T if transposed else w).numpy().copy()
    return found


def _tensor(case: Case, x: Any) -> Any:
    return torch.from_numpy(x if x.dtype.kind == "i" else x.astype(case.net.backend.dtype))
