"""minisig sample: let a trained language model write."""

import json
import sys
from itertools import chain

import click

from minisig.cli.options import as_json
from minisig.cli.output import say
from minisig.cli.values import finite, not_empty


@click.command(short_help="Let a trained language model write.")
@click.argument("model", type=click.Path(), callback=not_empty)
@click.option("--prompt", default="", metavar="TEXT", help="What it goes on with.")
@click.option("--length", type=click.IntRange(1, 10**7), default=400, show_default=True, help="Tokens to write.")
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    callback=finite,
    default=0.8,
    show_default=True,
    help="0 takes the most probable token, more makes it bolder.",
)
@click.option("--top-k", type=click.IntRange(min=1), help="Draw from so many of the most probable.")
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), help="Draw from those that have this share.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same text.")
@click.option("--count", type=click.IntRange(1, 10**4), default=1, show_default=True, help="Texts to write.")
@click.option("--backend", help="numpy, or cupy for a GPU.  [default: that of training]")
@as_json
def sample(
    model: str,
    prompt: str,
    length: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int,
    count: int,
    backend: str | None,
    json_: bool,
) -> None:
    """Let MODEL, a run's folder or its best.safetensors, write a text.

    \b
    minisig train text
    minisig sample runs/text-ortho+ep-seed0
    minisig sample RUN --prompt "Once upon a time" --temperature 0.6
    minisig sample RUN --count 3 --seed 7 --json
    """
    from minisig.data.prepared import Noticed
    from minisig.diagnostics.writing import Drawing
    from minisig.diagnostics.writing import sample as write
    from minisig.errors import printable
    from minisig.trained.model import load

    loaded, drawing, noticed = load(model, backend), Drawing(temperature, top_k, top_p), Noticed()
    texts = []
    for number in range(count):
        pieces = write(loaded.net, loaded.text, prompt, length, drawing, seed + number, noticed if not number else None)
        if json_:
            texts.append("".join(pieces))
            continue
        if number:
            say("\n----\n")
        for piece in chain([prompt], pieces):  # as it comes
            sys.stdout.write("\t".join(map(printable, piece.split("\t"))))
            sys.stdout.flush()
        sys.stdout.write("\n")
    if json_:
        many = {"texts": texts} if count > 1 else {}
        click.echo(json.dumps({"text": texts[0], "tokens": length} | many))
    for line in noticed.lines():
        say(line, err=True)
