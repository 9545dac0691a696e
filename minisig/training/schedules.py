"""Learning rate over the iterations.

    constant    η
    linear      η falling to 0 at the end of training

either one after a linear warm-up from 0 over the first `warmup` iterations.
"""

from minisig.training.config import OptimizerConfig


def learning_rate(config: OptimizerConfig, iteration: int, iterations: int) -> float:
    """η of this iteration (from 1) out of so many; the last one of a linear schedule is small, not 0."""
    rate = config.learning_rate
    if iteration < config.warmup:
        rate *= iteration / config.warmup
    if config.schedule == "linear":
        rate *= 1 - (iteration - 1) / iterations
    return rate
