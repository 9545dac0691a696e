"""Reading a run's gradients: two networks train, one of them only seems to, and the log shows which and why."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import minisig as ms
from minisig.lessons.stage import picture, run
from minisig.report.figures import gradient_maps
from minisig.report.metrics import read_metrics


def main(out: Path) -> dict[str, Any]:
    print("""\
Every run writes metrics.jsonl: a line for every logged iteration, with the loss and the norm of each layer's gradient.
The same eight hidden layers of 100 sigmoids learn digits for 600 iterations, from two initializations.
""")
    runs, summaries = {}, {}
    with TemporaryDirectory() as folder:
        for init in ("random+ep", "lecun"):
            config = ms.configure("digits", {"network.init": init, "iterations": 600})
            summaries[init] = ms.run(config, Path(folder) / init)
            runs[init] = read_metrics(Path(folder) / init / "metrics.jsonl")

    for init, metrics in runs.items():
        print(f"{init}\n    iteration    loss   gradient of {metrics.layers[0]}   of {metrics.layers[-1]}   ratio")
        losses = metrics.scalars["train_loss"]
        for i in (0, 5, 15, 30):  # log_every is 20
            first, last = metrics.norms[i, 0], metrics.norms[i, -1]
            row = f"    {metrics.iterations[i]:9}   {losses[i]:.3f}   {first:18.1e}   {last:9.1e}   {first / last:.0e}"
            print(row)
        print(f"    test error {summaries[init]['test_error']:.1f} %\n")
    print("""\
Read it like this. First the ratio: does the first layer get a gradient comparable to the last one's? Then over time: do
the norms fall because the loss does, or was there never any? And only then the loss. With lecun it stays near
ln 10 = 2.303, guessing: the last layer has a healthy gradient, and all it can learn is how often each digit
comes; the layers before it, whose outputs hardly depend on the image, get next to nothing.""")

    picture(out / "reading_a_run.png", lambda: gradient_maps(runs))
    print("""
Try: `minisig train --init lsuv` and watch the bars: its gradients are much larger than lecun's, yet it only guesses.
See why with `minisig inspect --init lsuv`: how much of a logit's standard deviation is left "of a neuron", over the
inputs?""")
    return {"runs": runs, "summaries": summaries}


if __name__ == "__main__":
    run(main)
