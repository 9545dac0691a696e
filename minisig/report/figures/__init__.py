"""Figures, drawn by matplotlib from numbers that come from elsewhere: one figure a file.

canvas.py           a sheet to draw on, and how it becomes a file
neuron.py           density of the output, and the paper's H_B over (μ, σ)
inspection.py       logits, entropy, gradients and bounds, layer by layer; the course of a run
bounds.py           measured gradient against the three bounds
learning.py         losses over the iterations, mean and band over seeds
gradients.py        gradient norm of every layer over the iterations, as a map
activations.py      mean ± standard deviation of every layer's activations over the iterations
images.py           images as they are trained on
"""

from minisig.report.figures.bounds import draw_bounds
from minisig.report.figures.canvas import new_figure, require_drawable, save
from minisig.report.figures.gradients import gradient_maps
from minisig.report.figures.images import contact_sheet
from minisig.report.figures.inspection import inspection_figure
from minisig.report.figures.learning import learning_curves
from minisig.report.figures.neuron import neuron_figure

__all__ = [
    "contact_sheet",
    "draw_bounds",
    "gradient_maps",
    "inspection_figure",
    "learning_curves",
    "neuron_figure",
    "new_figure",
    "require_drawable",
    "save",
]
