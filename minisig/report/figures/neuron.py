"""One neuron: the density of its output, and the paper's H_B over mean and standard deviation of its logit."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import expit

from minisig import theory
from minisig.report.figures.canvas import new_figure
from minisig.report.palette import PALETTE

SIGMAS = (0.5, 1.0, 2.0, 4.0)  # beside the neuron's own
SHIFTS = (-2.0, -1.0, 1.0, 2.0)  # of μ from the neuron's own
LEVELS = 22  # of H_B
TALLEST = 5.0  # density shown: that of a logit that hardly varies rises without limit


def neuron_figure(mu: float = 0.0, sigma: float | None = None) -> Any:
    """Density of y for several σ and for several μ, this neuron's the thick line, and H_B with its ridge and summit.

    Without σ it is the one that maximizes H_B at this μ.
    """
    sigma = float(theory.best_sigma(mu)) if sigma is None else sigma
    figure = new_figure(14, 4.3)
    of_sigma, of_mu, surface = figure.subplots(1, 3)
    _densities(of_sigma, [(mu, other) for other in SIGMAS], (mu, sigma), "σ", 1)
    of_sigma.set_title(f"density of y = g(z), z ~ N({mu:.3g}, σ²)".replace("-", "−"))
    _densities(of_mu, [(mu + shift, sigma) for shift in SHIFTS], (mu, sigma), "μ", 0)
    of_mu.set_title(f"density of y = g(z), z ~ N(μ, {sigma:.3g}²)")
    _surface(surface, mu, sigma)
    return figure


def _densities(
    axes: Any, others: Iterable[tuple[float, float]], own: tuple[float, float], symbol: str, varied: int
) -> None:
    neurons = sorted({*others, own}, key=lambda pair: pair[varied])
    for colour, (mu, sigma) in zip(PALETTE, neurons, strict=False):
        ours = (mu, sigma) == own
        # Evenly spread, and as dense as it takes where all the mass lies within a hair's breadth.
        y = np.sort(np.concatenate([np.linspace(0, 1, 801), expit(mu + sigma * np.linspace(-6, 6, 401))]))
        axes.plot(
            y,
            theory.density(y, mu, sigma),
            color="black" if ours else colour,
            linewidth=2.5 if ours else 1.5,
            zorder=3 if ours else 2,
            label=f"{symbol} = {(mu, sigma)[varied]:.4g}".replace("-", "−"),
        )
    axes.set(xlabel="y", ylabel="p(y)", xlim=(0, 1), ylim=(0, TALLEST))
    axes.legend(ncols=2, loc="upper center", framealpha=0.9)
    axes.grid(alpha=0.3)


def _surface(axes: Any, mu: float, sigma: float) -> None:
    reach, most = max(4.0, 1.3 * abs(mu)), max(5.0, 1.3 * sigma)
    mus, sigmas = np.linspace(-reach, reach, 201), np.linspace(most / 50, most, 200)
    heights = theory.surrogate(mus, sigmas[:, None])
    low, high = heights.min(), heights.max()
    levels = high - (high - low) * np.linspace(1, 0, LEVELS) ** 2  # closer where it is flat, around the summit
    surface = axes.contourf(mus, sigmas, heights, levels, cmap="cividis")
    axes.figure.colorbar(surface, ax=axes, label="$H_B$, nats", ticks=levels[::3], format="%.2f")
    ridge = theory.best_sigma(mus)
    axes.plot(mus, ridge, color="white", linestyle=":", linewidth=2, label=r"$\partial H_B/\partial\sigma = 0$")
    summit = float(theory.best_sigma(0.0))
    axes.plot([0], [summit], "*", color=PALETTE[5], markersize=14, label=r"optimum, (0, $\sqrt{\pi/2}$)", linestyle="")
    if (mu, sigma) != (0.0, summit):
        axes.plot([mu], [sigma], "o", color="white", markeredgecolor="black", label="this neuron", linestyle="")
    axes.set(
        title="upper bound $H_B$ of the entropy of y",
        xlabel="mean of the logit, μ",
        ylabel="standard deviation of the logit, σ",
        xlim=(-reach, reach),
        ylim=(most / 50, most),
    )
    axes.legend(loc="upper center", facecolor="black", framealpha=0.35, labelcolor="white", fontsize="small")
