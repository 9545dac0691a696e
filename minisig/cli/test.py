"""minisig test: how good a trained model is on data it has not seen."""

import json

import click

from minisig.cli.options import as_json
from minisig.cli.output import say
from minisig.cli.predict import pieces_of
from minisig.cli.score import content_of
from minisig.cli.values import not_empty


@click.command(short_help="How good a trained model is on other data.")
@click.argument("model", type=click.Path(), callback=not_empty)
@click.argument("file", type=click.Path(allow_dash=True), callback=not_empty)
@click.option("--backend", help="numpy, or cupy for a GPU.  [default: that of training]")
@as_json
def test(model: str, file: str, backend: str | None, json_: bool) -> None:
    """Test MODEL, a run's folder or its best.safetensors, on the table FILE, which has the target's column as well.

    Of a classification: the error, beside that of always giving the most
    frequent answer, the confusion matrix, precision and recall of every class.
    Of a regression: rmse and mae in the target's own units, and r2. FILE may
    also be a text, for a model of texts: its perplexity.

    \b
    minisig test runs/iris-random+ep-seed0 more.csv
    minisig test best.safetensors more.csv --json
    """
    from minisig.data.prepared import TextInputs
    from minisig.jsonable import jsonable
    from minisig.report.quality import tested_text
    from minisig.report.summary import result
    from minisig.trained.model import load

    loaded = load(model, backend)
    if isinstance(loaded.prepared, TextInputs):
        scored = loaded.score(content_of(file, loaded))
        found = {f"test_{name}": value for name, value in scored.items() if name != "tokens"}
        told = f"{scored['tokens']:,} tokens: {result(found | {'baselines': {}})}"
        click.echo(json.dumps(found | {"tokens": scored["tokens"]})) if json_ else say(told)
        return
    found = loaded.tested(pieces_of(file, loaded, targets=True))
    notes = found.pop("notes")
    if json_:
        click.echo(json.dumps(jsonable(found)))
    else:
        say(tested_text(found))
    for line in notes:
        say(line, err=True)
