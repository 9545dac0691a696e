"""Distorted images, as the paper trains its deep network on (section VI.C, after Simard 2003 and Cireşan 2010).

Every pixel p of the new image shows the old one, whose middle is c, at

    c + A (p − c) + u(p)        A = diag(1/s) R(−θ)     u = α · Gauss_σ ∗ noise

by bilinear interpolation: turned by θ, stretched by s in height and width, and shaken by a smooth field of
displacements u. Beyond the edge lies the background, the least value of the data. θ, s and the noise, uniform in ±1,
are new for every image that is shown. Gaussian smoothing is linear and separable, so it is two small matrix products
for a whole batch, K_h · noise · K_w; the matrices are those of a filter that sees zeros beyond the edge.

A batch's fields are stored as (2, height, batch, width), rows and columns of u in the first axis: then all products
are plain ones, with nothing to transpose between them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from minisig.backends import Array, Backend
from minisig.data.config import Augment
from minisig.data.dataset import Batch, Batches
from minisig.seeds import stream

MIDDLE = 127.5  # of a byte; the noise is drawn as bytes, of which a field averages hundreds, faster than as floats
IN_CACHE = 25  # images, whose intermediate results stay in that of the CPU; a device takes all at once


class Distortion:
    """Distorts batches of images of one shape (height, width)."""

    def __init__(self, config: Augment, image: tuple[int, int], background: float, backend: Backend) -> None:
        self.config, self.image, self.background, self.backend = config, image, background, backend
        height, width = image
        y, x = (np.arange(n) - (n - 1) / 2 for n in image)  # p − c
        self.y = backend.asarray(y)[:, None]
        self.c = backend.asarray([[[(n - 1) / 2]] for n in image])
        self.K_h = backend.asarray(smoothing(height, config.sigma) * (config.alpha / MIDDLE))
        # Two more rows, with which the product that smooths also makes the affine part, A_x x + (c + A_y y).
        self.K_w = backend.asarray(np.vstack([smoothing(width, config.sigma), x, np.ones(width)]))
        self.narrow = backend.xp.asarray(config.narrow)

    def draw(self, labels: Any, rng: Generator) -> tuple[Any, Any]:
        """Noise (2, height, B, width + 2), as bytes, and matrices A (2, 2, B), for images with these labels.

        The last two columns of the noise only keep room for the affine part.
        """
        config, B = self.config, len(labels)
        height, width = self.image
        size = 2 * height * B * (width + 2)
        noise = rng.bit_generator.random_raw(-(-size // 8)).view(np.uint8)[:size].reshape(2, height, B, width + 2)
        xp = self.backend.xp
        narrow = (labels[:, None] == self.narrow).any(axis=1)
        most = xp.where(narrow, config.narrow_rotation, config.rotation)
        chance = xp.asarray(rng.uniform(-1, 1, (3, B)))
        angle = xp.deg2rad(most * chance[0])
        stretch = 1 + config.scaling * chance[1:]
        cos, sin = xp.cos(angle), xp.sin(angle)
        return noise, xp.stack([cos, sin, -sin, cos]).reshape(2, 2, B) / stretch[:, None]

    def apply(self, images: Array, noise: Any, A: Any) -> Array:
        """The images (B, height · width), distorted as drawn."""
        distorted = self.backend.xp.empty_like(images)
        A = self.backend.asarray(A)
        size = IN_CACHE if isinstance(images, np.ndarray) else max(1, len(images))
        for start in range(0, len(images), size):
            some = slice(start, start + size)
            self._apply(images[some], noise[:, :, some], A[:, :, some], distorted[some])
        return distorted

    def _apply(self, images: Array, noise: Any, A: Array, distorted: Array) -> None:
        backend, (height, width) = self.backend, self.image
        rough = backend.asarray(noise)
        rough -= MIDDLE
        fields = backend.xp.empty_like(rough)
        for i in range(2):
            backend.gemm(1.0, self.K_h, rough[i].reshape(height, -1), 0.0, fields[i].reshape(height, -1))
        fields[..., width] = A[:, 1, None]
        fields[..., width + 1] = A[:, 0, None] * self.y + self.c
        at = backend.matmul(fields.reshape(-1, width + 2), self.K_w).reshape(2, height, -1, width)
        shape = (-1, height, width)
        distorted.reshape(shape)[...] = backend.bilinear(images.reshape(shape), at, self.background)

    def __call__(self, images: Array, labels: Any, rng: Generator) -> Array:
        return self.apply(images, *self.draw(labels, rng))


def smoothing(n: int, sigma: float) -> Any:
    """The symmetric matrix (n, n) that smooths a column as scipy.ndimage does, with zeros beyond its ends."""
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(np.eye(n), sigma, axis=0, mode="constant")


@dataclass(frozen=True)
class Distorted:
    """Batches of distorted images, each known from its iteration alone."""

    batches: Batches
    distort: Distortion
    seed: int

    def at(self, iteration: int) -> Batch:
        batch = self.batches.at(iteration)
        x = self.distort.backend.asarray(batch.x)
        return Batch(self.distort(x, batch.labels, stream(self.seed, "augment", iteration)), batch.labels)
