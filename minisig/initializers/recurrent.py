"""Initializations of recurrent networks: embedding → recurrent layers → output layer.

The embedding is uniform in (−1, 1) whatever the initializer. A layer of cells is what the initializer's `cell` makes of
it; the output layer what it makes of a dense one, on the states that a sample of the data leaves there.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.random import Generator

from minisig.activations import Sigmoid
from minisig.backends import get_backend
from minisig.errors import MinisigError, UsageError, require_known
from minisig.gradients import rows
from minisig.initializers.account import Account, LayerAccount
from minisig.initializers.draws import uniform
from minisig.initializers.inputs import SAMPLE, Inputs, Matrix, Params, Started, Target, checked_sizes
from minisig.initializers.table import INITIALIZERS, starts
from minisig.layers import CELLS
from minisig.settings import brought, checked, with_settings_of

OUTPUT = Sigmoid()  # the output layer's logits are put where those of sigmoids are best


def initialize_recurrent(
    init: str,
    model: str,
    vocabulary: int,
    hidden: Sequence[int],
    rng: Generator,
    tokens: Any = None,
    frequencies: Any = None,
    **settings: Any,
) -> tuple[dict[str, Params], Account]:
    """Parameters by layer name, "embedding", "rnn0", …, "dense", and their account; see network.recurrent."""
    require_known("model", model, CELLS)
    require_known("init", init, INITIALIZERS)
    cell, initializer = CELLS[model], cast(Any, INITIALIZERS[init])
    if not starts(initializer, cell):
        others = [name for name, row in INITIALIZERS.items() if starts(row, cell)]
        raise UsageError(f"{init} does not initialize a {model}; choose from: {', '.join(others)}")
    parts = ((initializer, "CellSettings"), (cell, "Settings"))
    chosen = checked(settings, with_settings_of(parts))
    own, biases = (brought(part, chosen, attribute) for part, attribute in parts)
    hidden = checked_sizes(hidden)
    (vocabulary,) = checked_sizes([vocabulary])
    if vocabulary < 2:
        raise UsageError(f"expected a vocabulary of at least two tokens, got {vocabulary}")
    children = iter(rng.spawn(2 + 2 * len(hidden)))
    E = uniform(vocabulary, hidden[0], next(children))
    sample = _checked_tokens(tokens, vocabulary)
    if frequencies is None:
        frequencies = np.ones(vocabulary) if tokens is None else np.bincount(sample.ravel(), minlength=vocabulary)
    p = _shares(np.asarray(frequencies, dtype=np.float64), vocabulary)
    inputs = Inputs(p @ E, p @ (E - p @ E) ** 2, E[sample], table=E)
    weights: dict[str, Params] = {"embedding": {"E": E}}
    account = []
    for i, H in enumerate(hidden):
        started = initializer.cell(cell, inputs, H, (next(children), next(children)), **own)
        name, params = f"{model}{i}", _checked_params(init, started, cell, len(inputs.mean), H, biases)
        layer = cell(**params)
        h, cache = layer.forward(inputs.sample, get_backend("numpy", "float64"))
        weights[name] = params
        account.append(
            _row(name, (len(params["Wx"]) + H, params["Wx"].shape[1]), started.target, layer.logits(h, cache))
        )
        inputs = replace(started.activations or Inputs.measured(rows(h)), sample=h, table=None)
    x = rows(inputs.sample)
    [(W, b)], target = initializer([hidden[-1], vocabulary], [next(children)], replace(inputs, sample=x), OUTPUT)
    weights["dense"] = {"W": W, "b": b}
    account.append(_row("dense", W.shape, target, x @ W + b))
    return weights, Account(init, f"measured on {sample.shape[0]}×{sample.shape[1]} tokens", account)


def _checked_params(init: str, started: Any, cell: Any, n: int, H: int, biases: dict[str, Any]) -> Params:
    """What an initializer's `cell` gave, which anybody may have written, with the biases it left to the cell."""
    found = (
        {key: getattr(w, "shape", None) for key, w in started.params.items()} if isinstance(started, Started) else None
    )
    m = cell.gates * H
    if found is None or found | {"b": (m,)} != {"Wx": (n, m), "Wh": (H, m), "b": (m,)}:
        raise MinisigError(
            f"init '{init}': expected a Started with Wx ({n}, {m}) and Wh ({H}, {m}) from its cell, got "
            f"{found or type(started).__name__}"
        )
    params: Params = cell.completed(started.params, **biases)
    if not all(np.isfinite(w).all() for w in params.values()):
        raise MinisigError(f"init '{init}' gave weights or biases that are not finite")
    return params


def _checked_tokens(tokens: Any, vocabulary: int) -> Any:
    """A sample (T, B) of the data, or every token once, some of a large vocabulary."""
    sample = np.arange(min(vocabulary, SAMPLE)).reshape(1, -1) if tokens is None else np.asarray(tokens)
    if sample.ndim != 2 or sample.dtype.kind not in "iu" or not sample.size:
        raise UsageError(f"expected integer tokens (T, B), got {sample.dtype} of shape {sample.shape}")
    if sample.min() < 0 or sample.max() >= vocabulary:
        raise UsageError(f"expected tokens from 0 to {vocabulary - 1}, got {sample.min()} to {sample.max()}")
    return sample


def _shares(frequencies: Matrix, vocabulary: int) -> Matrix:
    total = frequencies.sum()
    if frequencies.shape != (vocabulary,) or not (frequencies.min() >= 0 and 0 < total < np.inf):
        raise UsageError(
            f"expected {vocabulary} frequencies, none negative and not all zero, got shape {frequencies.shape} with "
            f"sum {total:g}"
        )
    shares: Matrix = frequencies / total
    return shares


def _row(layer: str, shape: tuple[int, ...], target: Target, z: Matrix) -> LayerAccount:
    z = rows(z)
    return LayerAccount.of(layer, (shape[0], shape[1]), target, z.mean(axis=0), z.var(axis=0))
