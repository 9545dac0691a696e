"""Losses: what is minimized, and in what terms a network is judged. One file each.

    softmax-cross-entropy       softmax.py      one class out of C: error, and of sequences perplexity and recall
    sigmoid-cross-entropy       sigmoid.py      C answers yes or no, each by itself: error
    mean-squared-error          squared.py      C numbers: rmse, mae, r2

    Weighted                    weighted.py     another one, to which every example adds as much as its weight says

base.py says what a loss is, metrics.py which end of its metrics is the better one.
"""

from minisig.losses.base import Loss, Score
from minisig.losses.metrics import METRICS, metric
from minisig.losses.sigmoid import SigmoidCrossEntropy
from minisig.losses.softmax import SoftmaxCrossEntropy
from minisig.losses.squared import MeanSquaredError
from minisig.losses.table import LOSSES
from minisig.losses.weighted import Weighted, WeightedTargets

__all__ = [
    "LOSSES",
    "METRICS",
    "Loss",
    "MeanSquaredError",
    "Score",
    "SigmoidCrossEntropy",
    "SoftmaxCrossEntropy",
    "Weighted",
    "WeightedTargets",
    "metric",
]
