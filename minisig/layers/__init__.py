"""Layers: one file each, the formulas, forward, backward.

A layer is any object with

    params                          {name: array}, possibly empty
    forward(x, backend)             -> (y, cache)
    backward(dy, cache, backend)    -> (dx, {name: Gradient})

and remembers nothing between the two calls: all that backward needs is in the cache. A Gradient is one of those in
gradients.py; Evaluated wraps an array of the parameter's shape. A layer without parameters that works entry by entry is
best made an Activation, see activations/base.py. More is optional:

    takes_tokens = True             x are integers, not to be converted
    takes_lookups = True            x may be a Lookup, and dx a Return, see lookup.py
    draws = True                    forward takes another argument, the generator of its draws or None when evaluating
    carries = True                  forward takes another one, the state carried over or None for a fresh start, and
                                    last_state(cache) returns the one to carry on, an array or a tuple of arrays
    gradients(dy, cache, backend)   the second half of backward alone, by which a network's first layer, whose dx
                                    nobody needs, saves a matrix product

What a layer says of its inputs is checked before they reach it:

    input_size                      n of its inputs (…, n)
    state_size                      H of the states (B, H) of a layer over time, whose inputs are (T, B, n)
    vocabulary                      V of the tokens 0 … V − 1 that it takes

What it says of its logits is shown by diagnostics, see trace.py:

    logits(y, cache)                -> z, of a layer that makes logits
    logit_gradient(dy, cache, gradients)    -> ∂L/∂z of the same shape, with all that comes back through time, or None
                                    if the layer's gradients no longer tell
    activation_gradient(dy, dz, cache)      -> ∂L/∂y of a recurrent layer, with all that comes back in time; dz is ∂L/∂z
    activation                      an Activation f, of a recurrent layer with states h_t = f(z_t), whose logits z_t
                                    hang on the state before by h_{t−1} Wh, of its parameter Wh
"""

from minisig.activations import ScaledTanh, Sigmoid
from minisig.layers.dense import Dense
from minisig.layers.dropout import Dropout
from minisig.layers.embedding import Embedding
from minisig.layers.gru import GRU
from minisig.layers.layer import Layer
from minisig.layers.lstm import LSTM
from minisig.layers.recurrent import Recurrent, state_activation
from minisig.layers.rnn import RNN
from minisig.layers.table import CELLS

__all__ = [
    "CELLS",
    "GRU",
    "LSTM",
    "RNN",
    "Dense",
    "Dropout",
    "Embedding",
    "Layer",
    "Recurrent",
    "ScaledTanh",
    "Sigmoid",
    "state_activation",
]
