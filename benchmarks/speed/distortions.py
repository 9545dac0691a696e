"""The workload `augment`: a batch of images distorted as for mnist-deep-augmented; see minisig.data.augment."""

from itertools import count, cycle
from typing import Any

import numpy as np
import torch
from scipy import ndimage
from torch.nn import functional as F

from benchmarks.speed.ours import with_one_thread
from benchmarks.speed.workloads import Case, Step
from minisig.data.augment import Distortion, smoothing
from minisig.data.config import Augment
from minisig.seeds import stream

BACKGROUND = -1.0  # of MNIST


def ours(case: Case) -> Step:
    distort = Distortion(_settings(case), (28, 28), BACKGROUND, case.net.backend)
    batches, iteration = cycle(case.batches), count()

    def run() -> Any:
        batch = next(batches)
        return distort(batch.x, batch.labels, stream(0, "augment", next(iteration)))

    return Step(run, dict)


def ours_with_one_thread(case: Case) -> Step:
    return with_one_thread(ours(case))


def one_by_one(case: Case) -> Step:
    batches, rng = cycle(case.batches), stream(0, "augment")

    def run() -> Any:
        batch = next(batches)
        return distorted_one_by_one(batch.x, batch.labels, _settings(case), rng)

    return Step(run, dict)


def distorted_one_by_one(images: Any, labels: Any, settings: Augment, rng: np.random.Generator) -> Any:
    """The same distortion as one would write it down: field by field, image by image."""
    distorted = []
    for image, label in zip(images.reshape(-1, 28, 28), labels, strict=True):
        noise = rng.uniform(-settings.alpha, settings.alpha, (2, 28, 28))
        rows, columns = (ndimage.gaussian_filter(part, settings.sigma, mode="constant") for part in noise)
        most = settings.narrow_rotation if label in settings.narrow else settings.rotation
        angle = np.deg2rad(most * rng.uniform(-1, 1))
        stretch = 1 + settings.scaling * rng.uniform(-1, 1, 2)
        y, x = np.mgrid[:28, :28] - 13.5
        rows += (np.cos(angle) * y + np.sin(angle) * x) / stretch[0] + 13.5
        columns += (np.cos(angle) * x - np.sin(angle) * y) / stretch[1] + 13.5
        distorted.append(
            ndimage.map_coordinates(image, [rows, columns], order=1, mode="grid-constant", cval=BACKGROUND)
        )
    return np.array(distorted)


def pytorch(case: Case) -> Step:
    """The whole batch at once: smoothing by two matrix products as in ours, then affine_grid and grid_sample."""
    settings = _settings(case)
    K = torch.from_numpy(smoothing(28, settings.sigma).astype(np.float32))
    # grid_sample counts positions from −1 to 1 between the middles of the outermost pixels.
    pixel = 2 / 27
    narrow = torch.tensor(settings.narrow)
    batches = cycle([(torch.from_numpy(b.x).view(-1, 1, 28, 28), torch.from_numpy(b.labels)) for b in case.batches])

    def run() -> Any:
        images, labels = next(batches)
        B = len(images)
        fields = K @ torch.empty(B, 2, 28, 28).uniform_(-settings.alpha * pixel, settings.alpha * pixel) @ K
        most = torch.where(torch.isin(labels, narrow), settings.narrow_rotation, settings.rotation)
        angle = torch.deg2rad(most * torch.empty(B).uniform_(-1, 1))
        stretch = 1 + settings.scaling * torch.empty(2, B).uniform_(-1, 1)
        cos, sin, zero = torch.cos(angle), torch.sin(angle), torch.zeros(B)
        rows = [
            torch.stack([cos, -sin, zero], 1) / stretch[0, :, None],
            torch.stack([sin, cos, zero], 1) / stretch[1, :, None],
        ]
        grid = F.affine_grid(torch.stack(rows, 1), [B, 1, 28, 28], align_corners=True) + fields.permute(0, 2, 3, 1)
        # Beyond the edge it puts zeros: the background must be one for as long.
        return F.grid_sample(images - BACKGROUND, grid, align_corners=True) + BACKGROUND

    return Step(run, dict)


def _settings(case: Case) -> Augment:
    assert case.config.data.augment is not None
    return case.config.data.augment
