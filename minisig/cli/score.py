"""minisig score: how well a trained language model knows a text."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minisig.cli.options import as_json
from minisig.cli.output import say
from minisig.cli.values import not_empty

if TYPE_CHECKING:
    from minisig.trained.model import Model


@click.command(short_help="Perplexity of a text.")
@click.argument("model", type=click.Path(), callback=not_empty)
@click.argument("file", type=click.Path(allow_dash=True), callback=not_empty)
@click.option("--lines", is_flag=True, help="Perplexity of every line, the lines before it known.")
@click.option("--backend", help="numpy, or cupy for a GPU.  [default: that of training]")
@as_json
def score(model: str, file: str, lines: bool, backend: str | None, json_: bool) -> None:
    """Perplexity of the text FILE (- for standard input) under MODEL, a run's folder or its best.safetensors.

    \b
    minisig score runs/text-ortho+ep-seed0 chapter.txt
    minisig score RUN chapter.txt --lines
    """
    from minisig.data.prepared import Noticed
    from minisig.errors import printable
    from minisig.trained.model import load
    from minisig.trained.writing import score as scored
    from minisig.trained.writing import score_lines

    loaded, noticed = load(model, backend), Noticed()
    text = content_of(file, loaded)
    found = scored(loaded.net, loaded.text, text, noticed)
    each = list(score_lines(loaded.net, loaded.text, text)) if lines else []
    if json_:
        click.echo(json.dumps(found | ({"lines": each} if lines else {})))
    elif lines:
        for one in each:
            click.echo(f"{one['perplexity']:.6g}\t{one['tokens']}\t{printable(one['text'])}")
    else:
        unit = loaded.text.tokens.removesuffix("s")
        bits = f", {found['bits']:.4f} bits per {unit}" if "bits" in found else ""
        say(f"perplexity {found['perplexity']:.6g}{bits}, {found['tokens']:,} tokens")
    for line in noticed.lines():
        say(line, err=True)


def content_of(file: str, loaded: "Model") -> str | bytes:
    """The text in a file, or from standard input, as the model reads it."""
    from minisig.data.text import decoded, read_text

    where = "standard input" if file == "-" else file
    content = read_text(sys.stdin.buffer if file == "-" else Path(file), where)
    return content if loaded.text.tokens == "bytes" else decoded(content, where)
