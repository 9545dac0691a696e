"""A network that writes: guess the next letter, again and again, and draw one from the guess."""

from pathlib import Path
from typing import Any

import numpy as np

import minisig as ms
from minisig.diagnostics.writing import Drawing, looked_at, sample
from minisig.lessons.stage import picture, run
from minisig.report.figures import new_figure
from minisig.report.palette import COLOURS

STAGES = (20, 100, 800)  # iterations after which it is asked to write


def main(out: Path) -> dict[str, Any]:
    settings = {"network.hidden": [100], "data.steps": 40, "iterations": STAGES[-1], "validate_every": STAGES[-1]}
    config = ms.configure("text", settings)
    data = ms.load_data(config.data)
    text: Any = data.prepared
    net = ms.MODELS["rnn"](config, data)
    print(f"""\
A language model does one thing: it gives every character a probability to come next. There are {text.size} of them in
these tales of the Grimms'. Who takes them all for equally likely needs log2 {text.size} = {np.log2(text.size):.2f} bits
for each; who knows how often each one comes, {np.log2(data.baselines["unigram"]):.2f}. A recurrent network of 100
sigmoids reads one character after the other, and what it has read is in its state:

    h[t] = g(x[t] Wx + h[t − 1] Wh + b)        p = softmax(h[t] W + b)

To write, draw a character from p, give it to the network as the next x, and go on.
""")
    written, bits = {}, {}
    training = ms.Training(net, data, config)
    for stage in STAGES:
        while training.iteration < stage:
            training.advance()
        written[stage] = "".join(sample(net, text, "", 70, Drawing(0.7), seed=1))
        bits[stage] = ms.evaluate(net, data.valid)["loss"] / np.log(2)
        print(f"{stage:4} batches, {bits[stage]:.2f} bits: {' '.join(written[stage].split())}")

    z, _ = net.advance(np.array([text.encode("\nOnce upon a tim")]).T)
    drawn = {temperature: Drawing(temperature).probabilities(z[-1, 0]) for temperature in (0.5, 1.0, 2.0)}
    print("\nWhat comes after 'Once upon a tim'? The temperature divides the logits, and so sharpens or blurs it:")
    for temperature, p in drawn.items():
        first = [f"{text.decode([i])!r} {p[i]:.2f}" for i in np.argsort(-p)[:5].tolist()]
        print(f"    {temperature}: {', '.join(first)}")

    tokens = data.valid.tokens[:41]
    looked = looked_at(net, tokens)
    far = float(looked[:20].sum() / looked.sum())
    print(f"""
And what did a guess look at? The gradient of its loss with respect to every character before it tells: {far:.1%} of
it goes to the twenty that are furthest away. Such a small network knows words, not stories.""")

    picture(out / "writing.png", lambda: draw(text, tokens, looked))
    print("""
Try: ms.configure("text", {"network.model": "gru"}), or another text, {"data.path": "mine.txt"}. At which temperature
does it begin to repeat itself, and why?""")
    return {"bits": bits, "written": written, "drawn": drawn, "looked": looked, "unigram": data.baselines["unigram"]}


def draw(text: Any, tokens: Any, looked: Any) -> Any:
    axes = new_figure(9, 3.5).subplots()
    axes.bar(range(len(looked)), looked, color=COLOURS["random+ep"])
    letters = [text.decode([token]).replace("\n", "⏎").replace(" ", "␣") for token in tokens[:-1].tolist()]
    axes.set(yscale="log", ylabel=r"$\|\partial L/\partial x_t\|$", xlabel="read from left to right")
    axes.set_xticks(range(len(letters)), letters)
    axes.set_title(f"what the guess of {text.decode([int(tokens[-1])])!r}, the next one, looked at")
    return axes.figure


if __name__ == "__main__":
    run(main)
