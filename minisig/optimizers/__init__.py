"""Optimizers: one file each; base.py says what one is.

momentum    v ← μ v − η g,  w ← w + v
sgd         w ← w − η g
adam        steps of about η whatever the gradient's size
adamw       the same with weights that decay
rmsprop     g divided by a running root mean square
"""

from minisig.optimizers.adam import Adam
from minisig.optimizers.adamw import AdamW
from minisig.optimizers.base import Optimizer
from minisig.optimizers.momentum import Momentum
from minisig.optimizers.rmsprop import RMSprop
from minisig.optimizers.sgd import SGD
from minisig.optimizers.table import OPTIMIZERS

__all__ = ["OPTIMIZERS", "SGD", "Adam", "AdamW", "Momentum", "Optimizer", "RMSprop"]
