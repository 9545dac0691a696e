"""Initializations of recurrent networks: embedding → sigmoid RNN or LSTM → softmax layer.

    lecun glorot ortho      Wx, Wh and the output weights drawn by their own sizes, biases zero
    lsuv                    orthonormal; Wx and Wh of a layer scaled together until its logits have variance 1, for 20
                            rounds at most
    EP, mode "recurrent"    columns of Wh at the radius σ/√k (paper, section V); the inputs add a small part to the
                            logits, of deviation `input_rms` over the vocabulary
    EP, mode "joint"        the logit's variance σ² split evenly between inputs and state (theorem 1 speaks of the
                            neuron's whole input)

With EP the biases centre every logit, b = −Σ w E{x} − Σ w ½: the mean of an embedding's output is that of its rows
weighted with the tokens' frequencies. All modes start from the same embedding, uniform in (−1, 1), and the RNN's state
from ½, the mean of EP's activities.

An LSTM takes lecun, glorot or ortho, gate by gate, and a forget-gate bias; EP and lsuv are about sigmoid neurons.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from minisig.activations import Activation, Sigmoid
from minisig.errors import UsageError, require_known
from minisig.initializers.account import Account, LayerAccount
from minisig.initializers.draws import DRAWS, orthogonal, uniform
from minisig.initializers.ep import EP, ep_activities, ep_layer, logistic_of, on_ellipse
from minisig.initializers.inputs import SAMPLE, Inputs, Matrix, Target, checked_sizes

Params = dict[str, Matrix]  # {"Wx": …, "Wh": …, "b": …}

MODES = ("recurrent", "joint")
TOLERANCE, MOST_ROUNDS = 0.02, 20  # of lsuv; through the state the logits are not linear in the weights


@dataclass(frozen=True)
class RecurrentOptions:
    mode: str = "recurrent"
    radius: float | None = None  # of Wh's columns under EP; None for what the mode says (5.16 in "recurrent")
    input_rms: float = 0.1
    forget_bias: float = 1.0

    def __post_init__(self) -> None:
        require_known("EP mode", self.mode, MODES)
        if not (self.input_rms > 0 and (self.radius is None or self.radius > 0)):
            raise UsageError(f"expected a positive radius and input_rms, got {self.radius} and {self.input_rms}")


def initialize_recurrent(
    init: str,
    model: str,
    vocabulary: int,
    hidden: Sequence[int],
    rng: Generator,
    tokens: Any = None,
    frequencies: Any = None,
    options: RecurrentOptions | None = None,
) -> tuple[dict[str, Params], Account | None]:
    """Parameters by layer name, "embedding", "rnn0", …, "dense", and an RNN's account; see network.recurrent."""
    options = options or RecurrentOptions()
    known = DRAWS if model == "lstm" else [*EP, "lsuv", *DRAWS]
    require_known("init for an LSTM" if model == "lstm" else "init", init, known)
    hidden = checked_sizes(hidden)
    (vocabulary,) = checked_sizes([vocabulary])
    if vocabulary < 2:
        raise UsageError(f"expected a vocabulary of at least two tokens, got {vocabulary}")
    children = iter(rng.spawn(2 + 2 * len(hidden)))
    E = uniform(vocabulary, hidden[0], next(children))
    sample = np.arange(min(vocabulary, SAMPLE)).reshape(1, -1) if tokens is None else np.asarray(tokens)
    if sample.ndim != 2 or sample.dtype.kind not in "iu" or not sample.size:
        raise UsageError(f"expected integer tokens (T, B), got {sample.dtype} of shape {sample.shape}")
    if sample.min() < 0 or sample.max() >= vocabulary:
        raise UsageError(f"expected tokens from 0 to {vocabulary - 1}, got {sample.min()} to {sample.max()}")
    if frequencies is None:
        frequencies = np.ones(vocabulary) if tokens is None else np.bincount(sample.ravel(), minlength=vocabulary)
    p = _shares(np.asarray(frequencies, dtype=np.float64), vocabulary)
    # In mode "recurrent" every token, however rare, shall move the logits by input_rms.
    weight = p if options.mode == "joint" else np.full(vocabulary, 1 / vocabulary)
    inputs = Inputs(p @ E, weight @ (E - weight @ E) ** 2)
    x = E[sample]
    weights: dict[str, Params] = {"embedding": {"E": E}}
    rows = []
    for i, H in enumerate(hidden):
        rngs = next(children), next(children)
        if model == "lstm":
            weights[f"lstm{i}"] = _lstm_cell(init, ([hidden[0], *hidden][i], H), rngs, options.forget_bias)
            continue
        cell, target = _rnn_cell(init, x, inputs if i == 0 else None, H, rngs, options)
        z, x = unroll(x, cell, Sigmoid())
        weights[f"rnn{i}"] = cell
        rows.append(_row(f"rnn{i}", (len(cell["Wx"]) + H, H), target, z))
    output, target = _output(init, x, (hidden[-1], vocabulary), next(children))
    weights["dense"] = output
    if model == "lstm":
        return weights, None
    rows.append(_row("dense", output["W"].shape, target, x @ output["W"] + output["b"]))
    return weights, Account(init, f"measured on {sample.shape[0]}×{sample.shape[1]} tokens", rows)


def _shares(frequencies: Matrix, vocabulary: int) -> Matrix:
    total = frequencies.sum()
    if frequencies.shape != (vocabulary,) or not (frequencies.min() >= 0 and 0 < total < np.inf):
        raise UsageError(
            f"expected {vocabulary} frequencies, none negative and not all zero, got shape {frequencies.shape} with "
            f"sum {total:g}"
        )
    shares: Matrix = frequencies / total
    return shares


def unroll(x: Matrix, cell: Params, activation: Activation) -> tuple[Matrix, Matrix]:
    """Logits and states (T, B, H) of an RNN over inputs x (T, B, n), in float64."""
    z, h = x @ cell["Wx"] + cell["b"], activation.value(np.zeros((x.shape[1], len(cell["Wh"]))))
    states = np.empty_like(z)
    for t in range(len(x)):
        z[t] += h @ cell["Wh"]
        states[t] = h = activation.value(z[t])
    return z, states


def _rnn_cell(
    init: str,
    x: Matrix,
    inputs: Inputs | None,
    H: int,
    rngs: tuple[Generator, Generator],
    options: RecurrentOptions,
) -> tuple[Params, Target]:
    n = x.shape[-1]
    if init in EP:
        return ep_cell(init, inputs or ep_activities(init, n, Sigmoid()), H, rngs, options, Sigmoid())
    draw = orthogonal if init == "lsuv" else DRAWS[init]
    cell = {"Wx": draw(n, H, rngs[0]), "Wh": draw(H, H, rngs[1]), "b": np.zeros(H)}
    if init == "lsuv":
        for _ in range(MOST_ROUNDS):
            variance = unroll(x, cell, Sigmoid())[0].var()
            if variance == 0 or abs(variance - 1) < TOLERANCE:
                break
            cell["Wx"] /= np.sqrt(variance)
            cell["Wh"] /= np.sqrt(variance)
    return cell, Target(std=1.0 if init == "lsuv" else None)


def ep_cell(
    init: str,
    inputs: Inputs,
    H: int,
    rngs: Sequence[Generator],
    options: RecurrentOptions,
    activation: Activation,
) -> tuple[Params, Target]:
    """Wx (n, H), Wh (H, H) and b (H,) of a recurrent layer under EP."""
    draw, radius = EP[init]
    logistic = logistic_of(init, activation)
    sigma, state = radius() / logistic.slope, ep_activities(init, H, activation)
    if options.mode == "joint":
        c_x = c_h = sigma**2 / 2
    else:
        c_x, c_h = (options.input_rms / logistic.slope) ** 2, sigma**2
    if options.radius is not None:
        c_h = options.radius**2 * state.variance[0]
    Wx = on_ellipse(draw(len(inputs.mean), H, rngs[0]), inputs.variance, c_x)
    Wh = on_ellipse(draw(H, H, rngs[1]), state.variance, c_h)
    b = -inputs.mean @ Wx - logistic.centre * Wh.sum(axis=0)
    return {"Wx": Wx, "Wh": Wh, "b": b}, Target(0.0, float(np.sqrt(c_x + c_h)))


def _lstm_cell(init: str, sizes: tuple[int, int], rngs: tuple[Generator, Generator], forget_bias: float) -> Params:
    draw, (n, H) = DRAWS[init], sizes
    Wx, Wh = (np.concatenate([draw(m, H, rng) for _ in range(4)], axis=1) for m, rng in zip((n, H), rngs, strict=True))
    b = np.zeros(4 * H)
    b[H : 2 * H] = forget_bias
    return {"Wx": Wx, "Wh": Wh, "b": b}


def _output(init: str, h: Matrix, sizes: tuple[int, int], rng: Generator) -> tuple[Params, Target]:
    H, vocabulary = sizes
    if init in EP:
        W, b = ep_layer(init, ep_activities(init, H, Sigmoid()), vocabulary, rng, Sigmoid())
        return {"W": W, "b": b}, Target(0.0, EP[init][1]())
    W = (orthogonal if init == "lsuv" else DRAWS[init])(H, vocabulary, rng)
    if init == "lsuv":
        W /= (h @ W).std()
    return {"W": W, "b": np.zeros(vocabulary)}, Target(std=1.0 if init == "lsuv" else None)


def _row(layer: str, shape: tuple[int, int], target: Target, z: Matrix) -> LayerAccount:
    z = z.reshape(-1, z.shape[-1])
    return LayerAccount.of(layer, shape, target, z.mean(axis=0), z.var(axis=0))
