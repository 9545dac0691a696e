"""Backprop through time, and the bound: when is it certain that a recurrent network forgets?"""

from pathlib import Path
from typing import Any

import numpy as np

import minisig as ms
from minisig import theory
from minisig.lessons.stage import picture, run
from minisig.report.figures import draw_bounds, new_figure


def main(out: Path) -> dict[str, Any]:
    config = ms.configure("copy-memory", {"data.delay": 30})
    data = ms.load_data(config.data)
    batch = data.train.batches(config.batch_size, 0).at(1)
    print(f"""\
A recurrent network is a deep one whose layers, the time steps, all have the same matrix W. To learn that something at
step 0 matters at step {len(batch.x) - 1}, the gradient has to come back through all steps between,

    dh[t − 1] = (dh[t] · g′(z[t])) Wᵀ

Since g′ ≤ ¼ each step multiplies its length by ‖W‖₂/4 at most; and the paper has the simpler, larger ‖W‖_F/4. A number
below 1 proves that the network forgets, whatever the data. A number above 1 proves nothing at all.
""")
    found, by_hand = {}, {}
    for init in ("lecun", "ortho+ep"):
        net = ms.recurrent(data.classes, [100], init=init, tokens=batch.x)
        trace = net.trace(batch.x, batch.labels)
        found[init] = bounds = ms.vanishing_bounds(trace)

        # The same by hand, for the ten sequences that the bounds are about, from the last step's loss.
        W, z = net.params["rnn0.Wh"].astype("float64"), trace.caches["rnn0"].z[:, :10].astype("float64")
        dh = trace.deltas["rnn0"][-1, :10].astype("float64")
        by_hand[init] = [np.linalg.norm(dh)]
        for t in range(len(z) - 1, 0, -1):
            dh = (dh * theory.derivative(z[t])) @ W.T
            by_hand[init].append(np.linalg.norm(dh))

        print(f"{init}: ‖W‖₂/4 = {np.linalg.norm(W, 2) / 4:.2f}, ‖W‖_F/4 = {np.linalg.norm(W) / 4:.2f}")
        print("    steps back   by hand   measured   ‖W‖₂/4 allows   ‖W‖_F/4 allows")
        for back in (0, 10, 20, len(z) - 1):
            row = bounds.rows[back]
            numbers = back, by_hand[init][back], row.measured, row.spectral, row.frobenius
            print("    {:10}   {:7.1e}   {:8.1e}   {:13.1e}   {:14.1e}".format(*numbers))
        print(f"    {bounds.verdict}\n")
    print("""\
The Frobenius norm of a 100×100 matrix is up to ten times its largest singular value, and the bound pays for that at
every step. That is why it must never be shown alone: for ortho+ep it is larger than what happens by many decades.""")

    picture(out / "through_time.png", lambda: draw(found))
    print("""
Try: longer delays, data.delay = 60 and more. When does lecun's gradient fall below 1e-45, the least that float32 can
hold? What does that mean for learning to remember the first symbol?""")
    return {"bounds": found, "by_hand": by_hand}


def draw(found: dict[str, Any]) -> Any:
    figure = new_figure(11, 4)
    for axes, (init, bounds) in zip(figure.subplots(1, 2), found.items(), strict=True):
        draw_bounds(axes, bounds)
        axes.set_title(f"{init}: gradient of the last step's loss")
    return figure


if __name__ == "__main__":
    run(main)
