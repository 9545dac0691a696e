"""Activations: one file each, f, its derivative, and what is faster than these two.

    sigmoid scaled-tanh tanh    logistics in disguise, see logistic.py: EP and the theory's entropy are about them
    relu softplus erf           others

ACTIVATIONS is their table, to which anybody can add (see plugins.py): a class, or what else makes an Activation when
it is called. base.py says what an Activation is.
"""

from minisig.activations.base import Activation, Logistic
from minisig.activations.erf import Erf
from minisig.activations.logistic import LogisticActivation
from minisig.activations.relu import ReLU
from minisig.activations.scaled_tanh import ScaledTanh
from minisig.activations.sigmoid import Sigmoid
from minisig.activations.softplus import Softplus
from minisig.activations.table import ACTIVATIONS, get_activation, require_activation
from minisig.activations.tanh import Tanh

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Erf",
    "Logistic",
    "LogisticActivation",
    "ReLU",
    "ScaledTanh",
    "Sigmoid",
    "Softplus",
    "Tanh",
    "get_activation",
    "require_activation",
]
