"""The optimizers by name."""

from collections.abc import Callable

from minisig.optimizers.adam import Adam
from minisig.optimizers.adamw import AdamW
from minisig.optimizers.base import Optimizer
from minisig.optimizers.momentum import Momentum
from minisig.optimizers.rmsprop import RMSprop
from minisig.optimizers.sgd import SGD
from minisig.plugins import Table

OPTIMIZERS: Table[Callable[..., Optimizer]] = Table(
    "optimizers", {"momentum": Momentum, "sgd": SGD, "adam": Adam, "adamw": AdamW, "rmsprop": RMSprop}
)
