"""The embedded digits: 1,797 images of 8×8 pixels, 1,197 to train, 300 to select, 300 to test.

Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49, CC BY 4.0; the part that scikit-learn ships. Made by data_scripts/make_digits.py,
already shuffled; every seed sees the same three parts.
"""

from importlib.resources import files

import numpy as np

from minisig.data.dataset import Dataset, Split
from minisig.data.prepared import VectorInputs

HELD_OUT = 300


def load_digits() -> Dataset:
    """Pixels 0 … 16 scaled to [−1, 1]."""
    with files("minisig.data").joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        x = arrays["x"].astype(np.float32) / 8 - 1
        y = arrays["y"].astype(np.int64)
    valid, test = -2 * HELD_OUT, -HELD_OUT
    return Dataset(
        name="digits",
        train=Split(x[:valid], y[:valid]),
        valid=Split(x[valid:test], y[valid:test]),
        test=Split(x[test:], y[test:]),
        classes=10,
        image=(8, 8),
        prepared=VectorInputs(64, centre=[8.0] * 64, half=[8.0] * 64, image=(8, 8)),
    )
