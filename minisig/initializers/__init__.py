"""Initializations: weights and biases, and an account of what they do.

    lecun glorot ortho          draws.py    weights from the layer's size alone, biases zero
    lsuv                        lsuv.py     orthonormal, then the logits of a data batch scaled to variance 1
    random+ep ortho+ep          ep.py       the paper's: logits at (0, √(π/2)), where H_B is largest
    random+exact ortho+exact    ep.py       the same at (0, 1.7488), where the true entropy is largest

table.py is their table, and says what an initializer is; recurrent.py makes a whole recurrent network of them.
ellipse.py projects weights to the nearest of a radius, inputs.py is what an initializer is told, account.py what it
did.
"""

from minisig.initializers.account import Account
from minisig.initializers.ellipse import project
from minisig.initializers.initialize import initialize
from minisig.initializers.inputs import Inputs, Started, Target
from minisig.initializers.recurrent import initialize_recurrent
from minisig.initializers.table import INITIALIZERS, Initializer, starts

__all__ = [
    "INITIALIZERS",
    "Account",
    "Initializer",
    "Inputs",
    "Started",
    "Target",
    "initialize",
    "initialize_recurrent",
    "project",
    "starts",
]
