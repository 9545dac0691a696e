"""One neuron and its information: how far should its logit swing, so that the output says the most?"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import differential_entropy

from minisig import theory
from minisig.lessons.stage import picture, run
from minisig.report.figures import new_figure
from minisig.report.palette import PALETTE

DRAWS = 100_000


def main(out: Path) -> dict[str, Any]:
    print("""\
A sigmoid neuron turns its logit z into y = 1 / (1 + e^−z), a number between 0 and 1. Let z be Gaussian, N(0, σ²).
A small σ leaves y near ½, whatever the input; a large one drives it to 0 or 1. The entropy H(y) counts what is left
to tell in between: 0 if every y is equally likely, less for any other density.
""")
    best, exact = theory.best_sigma(), theory.exact_best_sigma()
    sigmas = np.array([0.25, 0.5, 1.0, best, exact, 3.0, 6.0])
    z = np.random.default_rng(0).standard_normal(DRAWS)
    measured = np.array([differential_entropy(expit(sigma * z)) for sigma in sigmas])
    H, H_B = theory.entropy(0, sigmas), theory.surrogate(0, sigmas)

    print(f"     σ   H(y) of {DRAWS:,} draws   by theory   bounds of the paper's eq. 3")
    for row in zip(sigmas, measured, H, H_B - 2 * np.log(2), H_B, strict=True):
        print("{:6.4f}  {:21.4f}  {:10.4f}   {:.4f} … {:.4f}".format(*row))
    print(f"""
The paper maximizes the upper bound H_B, since that can be done on paper: σ = √(π/2) = {best:.4f}.
The entropy itself is largest at σ = {exact:.4f}; the paper's choice is {H.max() - H[3]:.3f} nats below it.
Either way: not small, not large. That number is what every weight of `random+ep` is made for.""")

    picture(out / "neuron.png", lambda: draw(z, sigmas, measured))
    print("""
Try: theory.best_sigma(2). Why does a neuron whose logit has mean 2 want to swing further?""")
    return {"sigmas": sigmas, "measured": measured, "H": H, "H_B": H_B}


def draw(z: Any, sigmas: Any, measured: Any) -> Any:
    figure = new_figure(10, 4)
    outputs, information = figure.subplots(1, 2)
    y, s = np.linspace(0.001, 0.999, 500), np.linspace(0.2, 6.2, 200)
    for sigma, colour in ((0.5, PALETTE[0]), (theory.best_sigma(), PALETTE[2]), (6.0, PALETTE[5])):
        outputs.hist(expit(sigma * z), bins=100, range=(0, 1), density=True, color=colour, alpha=0.3)
        outputs.plot(y, theory.density(y, 0, sigma), color=colour, label=f"σ = {sigma:.3g}")
    outputs.set(xlabel="y", ylabel="p(y)", ylim=(0, 5), title="output: draws and density")
    outputs.legend(loc="upper center")
    information.plot(s, theory.surrogate(0, s), color=PALETTE[1], label="upper bound $H_B$")
    information.plot(s, theory.entropy(0, s), color="black", label="entropy H(y)")
    information.plot(s, theory.surrogate(0, s) - 2 * np.log(2), "--", color=PALETTE[1], label="$H_B$ − 2 ln 2")
    information.plot(sigmas, measured, "o", color=PALETTE[0], label="measured")
    information.set(xlabel="standard deviation of the logit, σ", ylabel="nats", title="what comes through")
    information.legend(loc="lower left")
    return figure


if __name__ == "__main__":
    run(main)
