"""Mean ± standard deviation of every layer's activations over the iterations (paper, figures 6 and 7)."""

from typing import Any

from minisig.report.figures.canvas import LONGEST, SMALL_TEXT, over_iterations
from minisig.report.metrics import Metrics
from minisig.report.thinning import spread

MAX_LAYERS = 8
COLUMNS = 4


def draw_activations(figure: Any, metrics: Metrics, colour: str) -> None:
    """A small panel for each layer, input first; of too many, some that are evenly spread, the first and the last."""
    chosen = spread(len(metrics.activations), MAX_LAYERS)
    columns = min(COLUMNS, len(chosen))
    panels = figure.subplots(-(-len(chosen) // columns), columns, sharex=True, sharey=True, squeeze=False)
    for axes, layer in zip(panels.flat, chosen, strict=False):
        mean, std = metrics.means[:, layer], metrics.stds[:, layer]
        axes.plot(metrics.iterations, mean, color=colour)
        axes.fill_between(metrics.iterations, mean - std, mean + std, color=colour, alpha=0.25, linewidth=0)
        axes.set_title(metrics.activations[layer][:LONGEST], **SMALL_TEXT)
        axes.grid(alpha=0.3)
    for axes in panels.flat[len(chosen) :]:
        axes.remove()
    for axes in panels.flat[max(0, len(chosen) - columns) : len(chosen)]:  # the lowest of every column
        over_iterations(axes)
        axes.tick_params(labelbottom=True)
    for axes in panels[:, 0]:
        axes.set_ylabel("activation y")
    figure.suptitle("activations, mean ± standard deviation over batch and neurons")
