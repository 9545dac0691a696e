"""Learning curves: losses over the iterations."""

from typing import Any

import numpy as np

from minisig.experiments.compare import Comparison, curves
from minisig.report.figures.canvas import line_styles, new_figure, over_losses

LOSSES = {"train_loss": "training loss", "valid_loss": "validation loss"}


def learning_curves(comparison: Comparison) -> Any:
    """Every loss that was logged: mean over the seeds, and a band from the least to the most."""
    rows = [row for row in comparison.rows if row.results]
    logged = [name for name in LOSSES if any(curves(row.results, name) for row in rows)] or ["train_loss"]
    figure = new_figure(1.5 + 4 * len(logged), 4)
    panels = figure.subplots(1, len(logged), squeeze=False)[0]
    styles = line_styles(row.name for row in comparison.rows)
    for axes, name in zip(panels, logged, strict=True):
        for row in rows:
            points = curves(row.results, name)
            if not points:
                continue
            iterations, values = list(points), list(points.values())
            dot = "o" if len(iterations) == 1 else None  # a line through one point cannot be seen
            axes.plot(iterations, [np.mean(v) for v in values], marker=dot, label=row.name, **styles[row.name])
            low, high = [min(v) for v in values], [max(v) for v in values]
            axes.fill_between(iterations, low, high, color=styles[row.name]["color"], alpha=0.2, linewidth=0)
        axes.set_title(LOSSES[name])
        over_losses(axes)
    panels[0].set_ylabel("mean cross-entropy, nats")
    panels[-1].legend(handles=list(panels[0].lines), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.suptitle(comparison.config.experiment)
    return figure
