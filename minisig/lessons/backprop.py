"""Backprop by hand, and how to check it: a wrong backward runs without complaint, the complex step finds it."""

from pathlib import Path
from typing import Any

import numpy as np

import minisig as ms
from minisig.layers import Sigmoid
from minisig.lessons.stage import picture, run
from minisig.report.figures import new_figure
from minisig.report.palette import PALETTE


def forward(W: Any, b: Any, x: Any, t: Any) -> tuple[Any, Any]:
    z = x @ W + b
    y = 1 / (1 + np.exp(-z))
    return 0.5 * np.sum((y - t) ** 2), y


def backward(y: Any, x: Any, t: Any) -> tuple[Any, Any]:
    dy = y - t  # the lines of forward, undone from the last to the first
    dz = dy * y * (1 - y)
    return x.T @ dz, dz.sum(axis=0)  # dW, db


class Careless(Sigmoid):
    def backward(self, dy: Any, y: Any, backend: Any) -> Any:
        return dy * y, {}  # where is (1 − y)?


def main(out: Path) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x, W, b, t = (rng.standard_normal(shape) for shape in ((8, 4), (4, 3), (3,), (8, 3)))
    loss, y = forward(W, b, x, t)
    dW, _ = backward(y, x, t)
    first = np.zeros_like(W)
    first[0, 0] = 1.0  # the weight to be moved
    h = 10.0 ** -np.arange(31)
    real = np.array([(forward(W + step * first, b, x, t)[0] - loss) / step for step in h])
    imaginary = np.array([forward(W + 1j * step * first, b, x, t)[0].imag / step for step in h])
    errors = {"real": np.abs(real - dW[0, 0]), "complex": np.abs(imaginary - dW[0, 0])}
    print(f"""\
One layer, y = g(x W + b), L = ½ Σ (y − t)². Its backward, written by hand, says for the first weight

    ∂L/∂W[0, 0]            {dW[0, 0]:.15f}

Is that right? Move the weight by a small h and see what the loss does. With a real step rounding eats what a small h
would win. With an imaginary one nothing is subtracted, and h cannot be too small:

    (L(W + h) − L(W)) / h  {real[errors["real"].argmin()]:.15f}   at the best h, {h[errors["real"].argmin()]:.0e}
    Im L(W + ih) / h       {imaginary[-1]:.15f}   at h = {h[-1]:.0e}

Now a whole network, and again with a sigmoid whose author forgot the (1 − y). Neither raises an error.
""")
    data = ms.load_data("digits")
    net = ms.mlp([64, 20, 20, 10], x=data.train.x)
    layers = [(name, Careless() if name == "sigmoid1" else layer) for name, layer in net.layers.items()]
    checks = {}
    for name, checked in (("right", net), ("careless", ms.Network(layers, net.backend))):
        checks[name] = ms.check_gradients(checked, data.train.x[:5], data.train.y[:5], entries=20)
        wrong = [array for array, mismatch in checks[name].by_array.items() if mismatch.error > 1e-6]
        print(f"{name}: relative error {checks[name].error:.0e}; wrong: {', '.join(wrong) or 'nothing'}")
    print(
        "\nWhere the gradient comes by after the mistake it is wrong, before it right: so the mistake is in sigmoid1."
    )

    picture(out / "backprop.png", lambda: draw(h, errors))
    print("\nTry: let `backward` return twice the db. Does the check of W notice? Does ms.check_gradients, in a layer?")
    return {"errors": errors, "checks": checks}


def draw(h: Any, errors: dict[str, Any]) -> Any:
    axes = new_figure(6, 4).subplots()
    for (name, error), colour in zip(errors.items(), (PALETTE[5], PALETTE[0]), strict=True):
        axes.loglog(h, np.maximum(error, 1e-17), ".-", color=colour, label=f"{name} step")
    axes.set(xlabel="step h", ylabel="error of ∂L/∂W[0, 0]", title="numerical differentiation")
    axes.invert_xaxis()
    axes.grid(alpha=0.3)
    axes.legend()
    return axes.figure


if __name__ == "__main__":
    run(main)
