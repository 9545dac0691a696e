"""Distortions of images, some that do nothing and some that go far, and images on which they show."""

import numpy as np

from minisig.backends import get_backend
from minisig.data.augment import Distortion
from minisig.data.config import Augment

NOTHING = {"alpha": 0.0, "rotation": 0.0, "narrow_rotation": 0.0, "scaling": 0.0}
WILD = {"alpha": 60.0, "sigma": 0.7, "rotation": 180.0, "scaling": 0.99, "narrow": ()}


def distortion(shape=(28, 28), dtype="float32", **config):
    return Distortion(Augment(**config), shape, -1.0, get_backend("numpy", dtype))


def images(shape, B, seed=0):
    """Noise in [−1, 1], on which a shift by a thousandth of a pixel shows, and labels."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (B, shape[0] * shape[1])), rng.integers(0, 10, B)
