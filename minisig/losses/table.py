"""The losses by name."""

from collections.abc import Callable

from minisig.losses.base import Loss
from minisig.losses.sigmoid import SigmoidCrossEntropy
from minisig.losses.softmax import SoftmaxCrossEntropy
from minisig.losses.squared import MeanSquaredError
from minisig.plugins import Table

LOSSES: Table[Callable[..., Loss]] = Table(
    "losses",
    {
        "softmax-cross-entropy": SoftmaxCrossEntropy,
        "sigmoid-cross-entropy": SigmoidCrossEntropy,
        "mean-squared-error": MeanSquaredError,
    },
)
