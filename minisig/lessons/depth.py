"""Why deep sigmoids die: on its way back, every layer multiplies the gradient by the same small number."""

from pathlib import Path
from typing import Any

import numpy as np

import minisig as ms
from minisig import theory
from minisig.lessons.stage import picture, run
from minisig.report.figures import new_figure
from minisig.report.palette import COLOURS

DEPTH, WIDTH = 20, 100


def main(out: Path) -> dict[str, Any]:
    print(f"""\
{DEPTH} hidden layers of {WIDTH} sigmoids look at 50 digits. Backprop takes the gradient from layer to layer,

    ∂L/∂y of a layer  =  (∂L/∂y of the next  ·  g′(z))  Wᵀ

so each layer multiplies its length by about ‖w‖ √(E g′(z)²), where ‖w‖ is the length of a neuron's weights. And g′ is
never more than ¼.
""")
    data = ms.load_data("digits")
    norms, factors = {}, {}
    for init in ("lecun", "random+ep"):
        net = ms.mlp([64, *[WIDTH] * DEPTH, 10], init=init, x=data.train.x)
        trace = net.trace(data.train.x[:50], data.train.y[:50])
        norms[init] = [float(np.linalg.norm(dy)) for dy in trace.activation_gradients().values()]
        measured = (norms[init][0] / norms[init][-1]) ** (1 / (DEPTH - 1))

        z, W = trace.outputs["dense10"], net.params["dense10.W"]
        w = float(np.linalg.norm(W)) / np.sqrt(WIDTH)
        steepness = np.sqrt(theory.expectation(lambda z: theory.derivative(z) ** 2, z.mean(), z.std()))
        factors[init] = measured, w * steepness
        first, last = norms[init][0], norms[init][-1]
        print(f"{init}: ‖w‖ = {w:.2f} and √E g′² = {steepness:.3f}, so a factor of {w * steepness:.2f} is expected;")
        print(f"    {measured:.2f} a layer is measured, from {last:.1e} at the last one to {first:.1e} at the first")

    left, chi = factors["lecun"][0], theory.gain(0, theory.best_sigma())
    print(f"""
LeCun's weights were made for a tanh, of slope 1; with sigmoids {DEPTH} layers leave {left:.2f}^{DEPTH - 1} of the
gradient. EP makes ‖w‖ as long as it takes for every logit to have standard deviation √(π/2), and it so happens
that the factor is then {np.sqrt(chi):.4f} in theory, almost exactly 1: what lets information through forwards lets
gradients through backwards.""")

    picture(out / "depth.png", lambda: draw(norms, factors))
    print("""
Try: init="lsuv" and init="glorot". By how much would you have to multiply LeCun's weights to keep gradients alive?""")
    return {"norms": norms, "factors": factors}


def draw(norms: dict[str, Any], factors: dict[str, tuple[float, float]]) -> Any:
    axes = new_figure(7, 4).subplots()
    layers = np.arange(1, DEPTH + 1)
    for init, values in norms.items():
        expected = values[-1] * factors[init][1] ** (DEPTH - layers)
        axes.semilogy(layers, values, "o", color=COLOURS[init], label=f"{init}, measured")
        axes.semilogy(layers, expected, "--", color=COLOURS[init], label=f"{factors[init][1]:.2f} a layer")
    axes.set(xlabel="hidden layer, input first", ylabel=r"$\|\partial L/\partial y\|$", xticks=layers[::3])
    axes.set_title("the gradient on its way back, right to left")
    axes.grid(alpha=0.3)
    axes.legend()
    return axes.figure


if __name__ == "__main__":
    run(main)
