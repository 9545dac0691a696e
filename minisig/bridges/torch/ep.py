"""EP for an existing torch model, in place."""

from typing import Any

import numpy as np
import torch
from torch import nn

from minisig.bridges.torch.cells import Cell, cells_of, host, input_weights
from minisig.errors import UsageError, require_known
from minisig.gradients import rows
from minisig.initializers.account import Account, LayerAccount
from minisig.initializers.ep import EP, on_ellipse
from minisig.initializers.inputs import SIGMOID, TANH, Activation, Inputs, Matrix, Target
from minisig.initializers.recurrent import Params, RecurrentOptions, ep_activities, ep_cell
from minisig.layers import RNN, Dense

ACTIVATIONS: dict[Any, Activation] = {nn.Sigmoid: SIGMOID, nn.Tanh: TANH}

Neurons = list[tuple[Cell, Activation]]


def ep_(module: Any, sample: Any = None, *, init: str = "random+ep", rng: int | np.random.Generator = 0) -> Account:
    """Initialize every Linear and RNN layer of `module` by EP, in place; what became of them.

    `sample` is a batch that the module can be called with. From it come the means and variances of what reaches the
    first layer, without one they are taken as 0 and 1; those of the hidden layers come from theory. A layer's neurons
    are those of the nn.Sigmoid or nn.Tanh after it, sigmoids if no module says so, and a tanh RNN's its own. `init` is
    "random+ep", "ortho+ep", "random+exact" or "ortho+exact". An MLP gets the weights of `minisig.mlp`, number for
    number. Other layers, such as an embedding, stay as they are.

    >>> import torch
    >>> from torch import nn
    >>> net = nn.Sequential(nn.Linear(64, 100), nn.Sigmoid(), nn.Linear(100, 10))
    >>> account = ep_(net, torch.rand(50, 64))
    >>> [layer.layer for layer in account.layers]
    ['0', '2']
    """
    require_known("init", init, EP)
    layers = _neurons(module)
    if not layers:
        raise UsageError(f"ep_ found no Linear and no RNN layer in {type(module).__name__}: it changed nothing")
    generator = np.random.default_rng(rng)
    inputs = Inputs.standard(layers[0][0].inputs)
    if sample is not None:
        inputs = Inputs.measured(rows(_seen(module, layers, sample)[layers[0][0].module][0]))
    made = []
    for cell, activation in layers:
        params, target = _drawn(init, cell, inputs, activation, generator)
        made.append((cell, params, target, _predicted(init, params, inputs, activation)))
        inputs = ep_activities(init, params["b"].size, activation)
    for cell, params, *_ in made:
        cell.write(params)
    measured = {} if sample is None else _measured(layers, _seen(module, layers, sample))
    account = []
    for cell, params, target, moments in made:
        m = params["b"].size
        shape = (sum(w.size for key, w in params.items() if key != "b") // m, m)
        account.append(LayerAccount.of(cell.name, shape, target, *measured.get(cell.name, moments)))
    assumed = "predicted for independent inputs of mean 0 and variance 1"
    return Account(init, assumed if sample is None else f"measured on {len(sample)} inputs", account)


def _drawn(
    init: str, cell: Cell, inputs: Inputs, activation: Activation, rng: np.random.Generator
) -> tuple[Params, Target]:
    m = len(cell.biases[0])
    if cell.ours is RNN:
        return ep_cell(init, inputs, m, rng.spawn(2), RecurrentOptions(), activation)
    draw, radius = EP[init]
    std = radius() / activation.slope
    W = on_ellipse(draw(cell.inputs, m, *rng.spawn(1)), inputs.variance, std**2)
    return {"W": W, "b": -inputs.mean @ W}, Target(0.0, std)


def _predicted(init: str, params: Params, inputs: Inputs, activation: Activation) -> tuple[Matrix, Matrix]:
    """Mean and variance of every logit; a recurrent layer's state is made of EP's own activities."""
    mean, variance = params["b"], np.zeros(params["b"].size)
    for key, x in ((input_weights(params), inputs), ("Wh", ep_activities(init, params["b"].size, activation))):
        if key in params:
            mean, variance = mean + x.mean @ params[key], variance + x.variance @ params[key] ** 2
    return mean, variance


def _measured(layers: Neurons, seen: dict[Any, tuple[Matrix, Matrix]]) -> dict[str, tuple[Matrix, Matrix]]:
    """Mean and variance of every logit of the layers, by their names."""
    found = {}
    states: dict[Any, Matrix] = {}  # of the layer below, in an RNN of several
    for cell, _ in layers:
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


def _seen(module: Any, layers: Neurons, sample: Any) -> dict[Any, tuple[Matrix, Matrix]]:
    """What goes into each of these layers' modules and comes out, in float64, when the model looks at the sample."""
    seen: dict[Any, tuple[Matrix, Matrix]] = {}

    def note(inner: Any, args: Any, output: Any) -> None:
        output = output[0] if isinstance(output, tuple) else output
        seen.setdefault(inner, tuple(host(a) for a in (args[0], output)))  # type: ignore[arg-type]

    sample = torch.as_tensor(sample)
    if sample.is_floating_point():
        sample = sample.to(layers[0][0].biases[0])
    hooks = [inner.register_forward_hook(note) for inner in {cell.module for cell, _ in layers}]
    modes = {inner: inner.training for inner in module.modules()}
    try:
        with torch.no_grad():
            module.eval()(sample)
    finally:
        for hook in hooks:
            hook.remove()
        for inner, mode in modes.items():
            inner.training = mode
    if missed := [cell.name for cell, _ in layers if cell.module not in seen]:
        raise UsageError(f"the sample does not pass through {', '.join(missed)}")
    return seen


def _neurons(module: Any) -> Neurons:
    """The layers that EP initializes, each with its neurons' activation."""
    cells: dict[Any, list[Cell]] = {}
    for cell in cells_of(module):
        if cell.ours in (Dense, RNN):
            if not cell.biases:
                raise UsageError(f"{cell.name} has no bias, by which EP centres the logits; make it with bias=True")
            cells.setdefault(cell.module, []).append(cell)
    found: Neurons = []
    waiting: list[Cell] = []  # a Linear, for what comes after it
    for name, inner in module.named_modules():
        if inner in cells:
            found += [(cell, SIGMOID) for cell in waiting]
            found += [(cell, TANH) for cell in cells[inner] if cell.ours is RNN]
            waiting = [cell for cell in cells[inner] if cell.ours is Dense]
        elif type(inner) in ACTIVATIONS:
            found += [(cell, ACTIVATIONS[type(inner)]) for cell in waiting]
            waiting = []
        elif type(inner).__module__ == nn.ReLU.__module__ and not isinstance(inner, nn.Softmax | nn.LogSoftmax):
            raise UsageError(
                f"{name} is a {type(inner).__name__}, but EP is about sigmoids and tanhs: hand ep_ the part of the "
                f"model that is made of these"
            )
    # The output layer is treated like the others.
    return found + [(cell, found[-1][1] if found else SIGMOID) for cell in waiting]
