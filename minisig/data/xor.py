"""XOR (paper, section VI.A): four Gaussians at (±1, ±1), opposite corners are one class.

200 training points as in the paper, new ones for every seed. The paper does not give the Gaussians' width: 0.3 here,
at which the Bayes error is 0.09 %. Validation has 200 points, the test 1,000.
"""

import numpy as np

from minisig.data.dataset import Dataset, Split
from minisig.data.prepared import VectorInputs
from minisig.seeds import stream

DEVIATION = 0.3
CORNERS = np.array([[-1, -1], [1, 1], [-1, 1], [1, -1]])
CLASSES = np.array([0, 0, 1, 1])


def make_xor(seed: int) -> Dataset:
    rng = stream(seed, "xor")

    def sample(n: int) -> Split:
        corner = rng.permutation(np.arange(n) % 4)
        x = CORNERS[corner] + DEVIATION * rng.standard_normal((n, 2))
        return Split(x.astype(np.float32), CLASSES[corner])

    train, valid, test = sample(200), sample(200), sample(1000)
    return Dataset(name="xor", train=train, valid=valid, test=test, classes=2, prepared=VectorInputs(2))
