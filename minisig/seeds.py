"""One seed, many independent streams: a named child of a SeedSequence for every purpose.

A stream depends on the seed and its own name alone. So a new purpose disturbs no other, and the draws of iteration
10,000 can be made without those of the 9,999 before it, which lets a run resume from its iteration number.
"""

import numpy as np


def stream(seed: int, purpose: str, index: int = 0) -> np.random.Generator:
    """The generator for this purpose, and for its index-th use (an epoch, an iteration)."""
    key = (*purpose.encode(), index)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
