"""Make minisig/data/digits.npz: the 1,797 8×8 digit images that scikit-learn ships, shuffled once.

    python data_scripts/make_digits.py            # needs scikit-learn

Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49, CC BY 4.0. The images come sorted by writer; the fixed shuffle spreads every writer
over the training, validation and test part.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

TARGET = Path(__file__).parent.parent / "minisig" / "data" / "digits.npz"


def main() -> None:
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    x = digits.data[order].astype(np.uint8)  # 0 … 16
    y = digits.target[order].astype(np.uint8)
    np.savez_compressed(TARGET, x=x, y=y)
    print(f"{TARGET.name}: {len(x)} images of {x.shape[1]} pixels, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
