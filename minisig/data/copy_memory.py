"""The copy-memory problem (paper, section VI.D): remember three symbols for T steps.

    input   s₁ s₂ s₃  a₈ … a₈  a₉  a₈ a₈ a₈          three symbols of a₀ … a₇, T − 1 blanks, the trigger, three blanks
    target  a₈ a₈ a₈  a₈ … a₈  a₈  s₁ s₂ s₃          T + 3 blanks, then the symbols

1,000 sequences each for training and testing as in the paper, and as many to select on; new ones for every seed.
Without memory one can do no better than exp(3 ln 8 / (T + 6)), the perplexity of knowing the blanks and guessing the
symbols.
"""

from math import exp, log

import numpy as np

from minisig.data.dataset import Dataset
from minisig.data.sequences import Sequences
from minisig.seeds import stream

SYMBOLS, BLANK, TRIGGER = 8, 8, 9
REMEMBERED = 3
SEQUENCES = 1000


def make_copy_memory(seed: int, delay: int) -> Dataset:
    rng = stream(seed, "copy-memory")

    def sample() -> Sequences:
        x = np.full((SEQUENCES, delay + 2 * REMEMBERED), BLANK)
        y = x.copy()
        y[:, -REMEMBERED:] = x[:, :REMEMBERED] = rng.integers(0, SYMBOLS, (SEQUENCES, REMEMBERED))
        x[:, delay + REMEMBERED - 1] = TRIGGER
        return Sequences(x, y, recall=slice(-REMEMBERED, None))

    baseline = exp(REMEMBERED * log(SYMBOLS) / (delay + 2 * REMEMBERED))
    return Dataset("copy-memory", sample(), sample(), sample(), classes=SYMBOLS + 2, baselines={"memoryless": baseline})
