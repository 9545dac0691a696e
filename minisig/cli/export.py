"""minisig export: a trained model for onnxruntime."""

import json
from pathlib import Path
from typing import Any

import click

from minisig.cli.options import as_json
from minisig.cli.output import say
from minisig.cli.values import in_a_folder, not_empty

MAX_SHOWN = 20  # inputs


def an_onnx_file(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if Path(value).suffix != ".onnx":
        raise click.BadParameter(f"{value!r}: expected the name of a file that ends in .onnx.")
    return str(in_a_folder(ctx, param, value))


@click.command(short_help="A trained model for onnxruntime.")
@click.argument("model", type=click.Path(), callback=not_empty)
@click.argument("file", metavar="FILE.onnx", type=click.Path(dir_okay=False), callback=an_onnx_file)
@as_json
def export(model: str, file: str, json_: bool) -> None:
    """Write MODEL, a run's folder or its best.safetensors, as ONNX, which runs without minisig to the same outputs.

    It takes raw rows: of a table one input for every column by its name,
    double for numbers (NaN is a missing one), string for categories; of
    other data x. Scaling, categories and what stands for a missing value
    are in the file. It gives the label and the probabilities, or the
    prediction in the target's own units. Needs minisig[onnx].

    \b
    minisig export runs/iris-random+ep-seed0 iris.onnx
    minisig export best.safetensors iris.onnx --json
    """
    from minisig.trained.model import load

    loaded = load(model, "numpy")  # a GPU is not needed for it
    found = loaded.export(file)
    if json_:
        click.echo(json.dumps({"onnx": file} | found))
        return
    say("\n".join([f"saved as {file}", *_lines("inputs", found["inputs"]), *_lines("outputs", found["outputs"])]))


def _lines(title: str, ends: list[dict[str, Any]]) -> list[str]:
    from minisig.report.tables import cropped

    shown = [(cropped(end["name"], 40), end["type"], f"({', '.join(map(str, end['shape']))})") for end in ends]
    width = max(len(name) for name, _, _ in shown[:MAX_SHOWN])
    lines = [f"  {name:<{width}}  {kind:<6}  {shape}" for name, kind, shape in shown[:MAX_SHOWN]]
    more = [f"  and {len(ends) - MAX_SHOWN:,} more"] if len(ends) > MAX_SHOWN else []
    return [title, *lines, *more]
