"""EP for an existing torch model, in place."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from minisig.activations import Activation, Sigmoid, Tanh
from minisig.bridges.torch.cells import MATCHES, Cell, cells_of, host, input_weights, is_activation
from minisig.errors import UsageError, require_known
from minisig.gradients import rows
from minisig.initializers.account import Account, LayerAccount
from minisig.initializers.ep import EPS
from minisig.initializers.inputs import Inputs, Matrix, Params, Target
from minisig.layers import RNN, Dense


@dataclass(frozen=True)
class Neurons:
    """A layer that EP initializes."""

    cell: Cell
    activation: Activation
    fed_by_ep: bool  # its inputs are activations of the layer before


def ep_(module: Any, sample: Any = None, *, init: str = "random+ep", rng: int | np.random.Generator = 0) -> Account:
    """Initialize every Linear and RNN layer of `module` by EP, in place; what became of them.

    `sample` is a batch that the module can be called with. From it come the means and variances of what reaches the
    first layer, and any that stands after a layer with weights of another kind; without a sample they are taken as 0
    and 1. Those of the other layers come from theory. A layer's neurons are those of the nn.Sigmoid or nn.Tanh after
    it, sigmoids if no module says so, and a tanh RNN's its own. Layers must be declared in the order in which they are
    called; without a sample the order of declaration is taken for it. `init` is "random+ep", "ortho+ep",
    "random+exact" or "ortho+exact". An MLP of sigmoids gets the weights of `minisig.mlp`. What EP does not know stays
    as it is.

    >>> import torch
    >>> from torch import nn
    >>> net = nn.Sequential(nn.Linear(64, 100), nn.Sigmoid(), nn.Linear(100, 10))
    >>> account = ep_(net, torch.rand(50, 64))
    >>> [layer.layer for layer in account.layers]
    ['0', '2']
    """
    require_known("init", init, EPS)
    layers = _neurons(module)
    if not layers:
        raise UsageError(f"ep_ found no Linear and no RNN layer in {type(module).__name__}: it changed nothing")
    source = "predicted for independent inputs of mean 0 and variance 1"
    if sample is not None:
        sample = torch.as_tensor(sample)
        look = partial(_seen, module, layers, sample)
        look()  # whatever is wrong with the sample shows before anything has changed
        source = f"measured on a sample of shape {tuple(sample.shape)}"
    generator = np.random.default_rng(rng)
    made = []
    before = layers[0].activation
    for layer in layers:
        if layer.fed_by_ep:
            inputs = EPS[init].activations(layer.cell.inputs, before)
        elif sample is None:
            inputs = Inputs.standard(layer.cell.inputs)
        else:
            inputs = Inputs.measured(rows(look()[layer.cell.module][0]))
        params, target = _drawn(init, layer, inputs, generator)
        layer.cell.write(params)
        made.append((layer, params, target, _predicted(init, params, inputs, layer.activation)))
        before = layer.activation
    measured = {} if sample is None else _measured(layers, look())
    account = []
    for layer, params, target, moments in made:
        name, m = layer.cell.name, params["b"].size
        shape = (sum(w.size for key, w in params.items() if key != "b") // m, m)
        account.append(LayerAccount.of(name, shape, target, *measured.get(name, moments)))
    return Account(init, source, account)


def _drawn(init: str, layer: Neurons, inputs: Inputs, rng: np.random.Generator) -> tuple[Params, Target]:
    cell, activation = layer.cell, layer.activation
    m = len(cell.biases[0])
    if cell.ours is RNN:
        started = EPS[init].recurrent(inputs, m, rng.spawn(2), activation)
        return started.params, started.target
    W, b = EPS[init].layer(inputs, m, rng.spawn(1)[0], activation)
    return {"W": W, "b": b}, EPS[init].target(activation)


def _predicted(init: str, params: Params, inputs: Inputs, activation: Activation) -> tuple[Matrix, Matrix]:
    """Mean and variance of every logit; a recurrent layer's state is made of EP's own activations."""
    mean, variance = params["b"], np.zeros(params["b"].size)
    for key, x in ((input_weights(params), inputs), ("Wh", EPS[init].activations(params["b"].size, activation))):
        if key in params:
            mean, variance = mean + x.mean @ params[key], variance + x.variance @ params[key] ** 2
    return mean, variance


def _measured(layers: list[Neurons], seen: dict[Any, tuple[Matrix, Matrix]]) -> dict[str, tuple[Matrix, Matrix]]:
    """Mean and variance of every logit of the layers, by their names."""
    found = {}
    states: dict[Any, Matrix] = {}  # of the layer below, in an RNN of several
    for cell in (layer.cell for layer in layers):
        x, z = seen[cell.module]
        if cell.ours is RNN:
            if x.ndim == 2:
                x = x[:, None]
            elif cell.module.batch_first:
                x = x.swapaxes(0, 1)
            z, states[cell.module] = _unrolled(states.get(cell.module, x), cell.read())
        found[cell.name] = rows(z).mean(axis=0), rows(z).var(axis=0)
    return found


def _unrolled(x: Matrix, cell: Params) -> tuple[Matrix, Matrix]:
    """Logits and states (T, B, H) of a tanh RNN over inputs x (T, B, n)."""
    z, h = x @ cell["Wx"] + cell["b"], np.zeros((x.shape[1], len(cell["Wh"])))
    states = np.empty_like(z)
    for t in range(len(x)):
        z[t] += h @ cell["Wh"]
        states[t] = h = np.tanh(z[t])
    return z, states


def _seen(module: Any, layers: list[Neurons], sample: Any) -> dict[Any, tuple[Matrix, Matrix]]:
    """What goes into each of these layers' modules and comes out, in float64, when the model looks at the sample."""
    seen: dict[Any, tuple[Matrix, Matrix]] = {}

    def note(inner: Any, args: Any, output: Any) -> None:
        output = output[0] if isinstance(output, tuple) else output
        seen.setdefault(inner, tuple(host(a) for a in (args[0], output)))  # type: ignore[arg-type]

    def floats(inner: Any, args: Any) -> Any:  # here, as what stands before the layers may need integers
        return args if args[0].is_floating_point() else (args[0].to(bias.dtype), *args[1:])

    bias = layers[0].cell.biases[0]
    sample = sample.to(bias.device, bias.dtype if sample.is_floating_point() else None)
    hooks = []
    for inner in {layer.cell.module for layer in layers}:
        hooks += [inner.register_forward_pre_hook(floats), inner.register_forward_hook(note)]
    modes = {inner: inner.training for inner in module.modules()}
    try:
        with torch.no_grad():
            module.eval()(sample)
    finally:
        for hook in hooks:
            hook.remove()
        for inner, mode in modes.items():
            inner.training = mode
    if missed := [layer.cell.name for layer in layers if layer.cell.module not in seen]:
        raise UsageError(f"the sample does not pass through {', '.join(missed)}")
    names = {inner: name for name, inner in module.named_modules() if inner in seen}  # as declared, seen as called
    for declared, called in zip(names, seen, strict=True):
        if declared is not called:
            raise UsageError(
                f"the model calls {names[declared]} after {names[called]} but declares it before: declare its layers "
                f"in the order in which they are called"
            )
    return seen


def _neurons(module: Any) -> list[Neurons]:
    cells: dict[Any, list[Cell]] = {}
    for cell in cells_of(module):
        if cell.ours in (Dense, RNN):
            if not cell.biases:
                raise UsageError(f"{cell.name} has no bias, by which EP centres the logits; make it with bias=True")
            cells.setdefault(cell.module, []).append(cell)
    found: list[Neurons] = []
    waiting = False  # the last one, for the activation after it
    fed_by_ep = False
    for name, inner in module.named_modules():
        if inner in cells:
            for cell in cells[inner]:
                found.append(Neurons(cell, Tanh() if cell.ours is RNN else Sigmoid(), fed_by_ep))
                fed_by_ep = True
            waiting = cell.ours is Dense
        elif (kind := MATCHES.get(type(inner))) and kind.logistic:
            if waiting:
                found[-1] = replace(found[-1], activation=kind())
            waiting = False
        elif is_activation(inner):
            raise UsageError(
                f"{name} is a {type(inner).__name__}, but EP is about sigmoids and tanhs: hand ep_ the part of the "
                f"model that is made of these"
            )
        elif [*inner.parameters(recurse=False)]:
            fed_by_ep = False
    if waiting and len(found) > 1:  # the output layer is treated like those before it
        found[-1] = replace(found[-1], activation=found[-2].activation)
    return found
