"""Figures, drawn by matplotlib from numbers that come from elsewhere."""

from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from minisig.backends import get_backend
from minisig.data import Dataset
from minisig.data.augment import Distortion
from minisig.errors import MinisigError, UsageError
from minisig.experiments.compare import Comparison, curves
from minisig.seeds import stream
from minisig.training.config import Config

# Okabe & Ito's, which the colour-blind can tell apart.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#f0e442")
FORMATS = (".png", ".svg", ".pdf")
SHOWN = 10  # distortions of an image, beside itself


def contact_sheet(config: Config, data: Dataset) -> Any:
    """One image of every class, as it is and as augmentation shows it."""
    if data.image is None:
        raise UsageError(f"the data of {data.name} are not images, there is nothing to draw")
    rows = [int(np.argmax(data.train.y == label)) for label in range(data.classes) if (data.train.y == label).any()]
    originals, labels = data.train.x[rows], data.train.y[rows]
    columns = [originals]
    if config.data.augment:
        distort = Distortion(config.data.augment, data.image, get_backend(config.backend, config.dtype))
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
    figure = _figure(figsize=(max(sheet.shape[1] / 45, 1.5), sheet.shape[0] / 45 + 0.4), layout="constrained")
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


def learning_curves(comparison: Comparison) -> Any:
    """Training and validation loss over the iterations: mean over the seeds, and a band from the least to the most."""
    figure = _figure(figsize=(9, 4), layout="constrained")
    for place, (name, title) in enumerate({"train_loss": "training loss", "valid_loss": "validation loss"}.items(), 1):
        axes = figure.add_subplot(1, 2, place)
        for row, colour in zip(comparison.rows, cycle(COLOURS)):
            points = curves(row.results, name)
            if not points:
                continue
            iterations = list(points)
            axes.plot(iterations, [np.mean(values) for values in points.values()], color=colour, label=row.name)
            low, high = [min(values) for values in points.values()], [max(values) for values in points.values()]
            axes.fill_between(iterations, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set(title=title, xlabel="iteration", yscale="log")
        axes.grid(alpha=0.3, which="both")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.suptitle(comparison.config.experiment)
    return figure


def save(figure: Any, path: Path) -> None:
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path}: a figure's name must end in {', '.join(FORMATS)}")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise MinisigError(f"cannot write {path}: {error.strerror or error}") from None


def _figure(**attributes: Any) -> Any:
    try:
        import matplotlib  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError:
        raise MinisigError("figures need matplotlib: pip install 'minisig[viz]'") from None
    return Figure(**attributes)  # by itself: pyplot would keep every figure there ever was
