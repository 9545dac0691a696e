"""Images as a network is trained on them."""

from typing import Any

import numpy as np

from minisig.backends import get_backend
from minisig.data import Dataset
from minisig.data.augment import Distortion
from minisig.errors import UsageError
from minisig.report.figures.canvas import new_figure
from minisig.seeds import stream
from minisig.training.config import Config

SHOWN = 10  # distortions of an image, beside itself


def contact_sheet(config: Config, data: Dataset) -> Any:
    """One image of every class, as it is and as augmentation shows it."""
    if data.image is None:
        raise UsageError(f"the data of {data.name} are not images, there is nothing to draw")
    rows = [int(np.argmax(data.train.y == label)) for label in range(data.classes) if (data.train.y == label).any()]
    originals, labels = data.train.x[rows], data.train.y[rows]
    columns = [originals]
    if config.data.augment:
        backend = get_backend(config.backend, config.dtype, config.memory)
        distort = Distortion(config.data.augment, data.image, data.background, backend)
        x = distort.backend.asarray(originals)
        columns += [
            distort.backend.to_host(distort(x, labels, stream(config.seed, "augment", i))) for i in range(1, SHOWN + 1)
        ]
    height, width = data.image
    gap = 2
    sheet = np.ones((len(rows) * (height + gap) + gap, len(columns) * (width + gap) + gap))
    for c, images in enumerate(columns):
        for r, image in enumerate(images):
            top, left = gap + r * (height + gap), gap + c * (width + gap)
            sheet[top : top + height, left : left + width] = image.reshape(height, width)
    figure = new_figure(max(sheet.shape[1] / 45, 1.5), sheet.shape[0] / 45 + 0.4)
    axes = figure.add_subplot()
    axes.imshow(sheet, cmap="gray", vmin=-1, vmax=1, interpolation="nearest")
    axes.set_xticks(
        [gap + width / 2, gap + width + gap + (len(columns) - 1) * (width + gap) / 2][: len(columns)],
        ["original", "as trained on"][: len(columns)],
    )
    axes.set_yticks([gap + height / 2 + r * (height + gap) for r in range(len(rows))], [str(label) for label in labels])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure
