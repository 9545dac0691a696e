"""The ellipse: the nearest weights that give a neuron's logit the standard deviation it should have."""

from pathlib import Path
from typing import Any

import numpy as np

from minisig import theory
from minisig.initializers import project
from minisig.lessons.stage import picture, run
from minisig.report.figures import new_figure
from minisig.report.palette import PALETTE


def main(out: Path) -> dict[str, Any]:
    sigma = theory.best_sigma()
    print(f"""\
A logit z = wᵀx + b of independent inputs has variance Σ w_i² Var(x_i). To be √(π/2)² = {sigma**2:.4f}, as lesson one
would have it, w must lie on an ellipse: short in the direction of inputs that vary much, long where they hardly vary.
Random weights do not lie there. EP moves them to the nearest point of it, which is not the one that scaling finds.
""")
    rng = np.random.default_rng(1)
    d = np.array([1.0, 0.25])  # variances of two inputs
    drawn = rng.normal(0, 1.5, (2, 12))  # a column for every neuron
    near = project(drawn, d, sigma**2)
    scaled = drawn * sigma / np.sqrt(d @ drawn**2)
    angles = np.linspace(0, 2 * np.pi, 100_001)
    ellipse = sigma * np.array([np.cos(angles) / np.sqrt(d[0]), np.sin(angles) / np.sqrt(d[1])])
    distance = {
        "projected": np.linalg.norm(near - drawn, axis=0),
        "scaled": np.linalg.norm(scaled - drawn, axis=0),
        "searched": np.array([np.linalg.norm(ellipse - w[:, None], axis=0).min() for w in drawn.T]),
    }
    print("Twelve neurons with two inputs, of variance 1 and ¼. They are moved by, on average,")
    for name, how in (
        ("projected", "projected: w_i / (1 + λ d_i), with one λ found by Newton's method"),
        ("searched", "the best of 100,000 points of the ellipse"),
        ("scaled", "scaled until the variance is right"),
    ):
        print(f"    {distance[name].mean():.4f}  {how}")

    inputs = rng.normal(rng.uniform(-2, 2, 300), rng.uniform(0, 2, 300), (4000, 300))
    W = project(rng.standard_normal((300, 50)), inputs.var(axis=0), sigma**2)
    z = (inputs - inputs.mean(axis=0)) @ W  # b = −wᵀ E x
    mean, std = abs(z.mean()), z.std(axis=0)
    print(f"""
Fifty neurons with 300 inputs of all means and variances: the bias b = −wᵀE(x) centres the logit, the projection does
the rest. Over 4,000 inputs their logits have mean {mean:.4f} and standard deviation {std.mean():.4f} ± {std.std():.4f},
where {sigma:.4f} was wanted. What remains is chance: the sample's inputs are not quite uncorrelated.""")

    picture(out / "ellipse.png", lambda: draw(ellipse, drawn, near, scaled))
    print("""
Try: project(drawn, np.array([1.0, 0.0]), sigma**2). The second input never changes, like the corner of an image. What
becomes of its weights, and why does that do no harm?""")
    return {"distance": distance, "std": std, "variance": d @ near**2}


def draw(ellipse: Any, drawn: Any, near: Any, scaled: Any) -> Any:
    axes = new_figure(5.5, 7).subplots()
    axes.plot(*ellipse, color="black", label=r"$\sum w_i^2\,\mathrm{Var}(x_i) = \pi/2$")
    for target, colour, name in ((near, PALETTE[0], "projected"), (scaled, PALETTE[1], "scaled")):
        axes.plot(*np.stack([drawn, target], axis=1), color=colour, alpha=0.6, zorder=1)
        axes.plot(*target, "o", color=colour, label=name)
    axes.plot(*drawn, "o", markerfacecolor="white", color="black", label="drawn")
    axes.set(xlabel="weight of the input of variance 1", ylabel="weight of the input of variance ¼", aspect="equal")
    axes.grid(alpha=0.3)
    axes.figure.legend(loc="outside upper center", ncols=2)
    return axes.figure


if __name__ == "__main__":
    run(main)
