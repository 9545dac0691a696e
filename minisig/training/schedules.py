"""Learning rate over the iterations.

    constant    η
    linear      η falling to 0 from the first iteration to the end of training

times, over the first `warmup` iterations, a share that rises from 0 to 1.
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
