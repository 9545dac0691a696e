"""minisig inspect: why a network trains, or does not."""

import json
from pathlib import Path
from typing import Any

import click

from minisig.cli.options import as_json, network_options, plot
from minisig.cli.output import say
from minisig.cli.overrides import overrides, own_table
from minisig.cli.values import refuse_others


@click.command(short_help="Logits, gradients and bounds, layer by layer.")
@network_options
@plot
@as_json
@click.pass_context
def inspect(ctx: click.Context, /, experiment: str, plot: str | None, json_: bool, **options: Any) -> None:
    """Logits, gradients and bounds of EXPERIMENT's untrained network, layer by layer.

    EXPERIMENT may also be a table of your own, or the folder of a finished run. With --init all every
    initialization of the paper stands side by side.

    \b
    minisig inspect                                digits, random+ep
    minisig inspect --init all                     the paper's initializations
    minisig inspect runs/digits-random+ep-seed0    after training
    minisig inspect copy-memory --init ortho+ep    what an untrained RNN remembers
    minisig inspect --init all --plot layers.png   as a figure, too

    `minisig train -h` lists the experiments. Options without a default have
    the experiment's values.
    """
    from minisig.diagnostics.inspection import inspect_network
    from minisig.diagnostics.memory import remembered
    from minisig.errors import UsageError
    from minisig.experiments import EXPERIMENTS, inits_of, is_own, suited, with_init
    from minisig.jsonable import jsonable
    from minisig.models import build_network
    from minisig.report.figures import inspection_figure, require_drawable, save
    from minisig.report.inspection import inspection_text, side_by_side_text
    from minisig.report.metrics import read_metrics
    from minisig.training.restore import restore

    if plot:
        require_drawable(Path(plot))
    every = options["init"] == "all"
    metrics = None
    if experiment not in EXPERIMENTS and Path(experiment).is_dir():
        refuse_others(ctx, "a finished run is inspected as it is", ("experiment", "backend", "plot", "json_"))
        config, data, net = restore(Path(experiment), options["backend"])
        metrics = read_metrics(Path(experiment) / "metrics.jsonl") if plot else None
        nets = {config.network.init: net}
        every = False
    else:
        if experiment not in EXPERIMENTS and "/" in experiment and not is_own(experiment):
            raise UsageError(f"{experiment} is no experiment, and no folder of a run: those are in runs/, or in --out")
        experiment, options = own_table(ctx, experiment, options)
        settings = overrides(experiment, **{**options, "init": None} if every else options)
        config, data = suited(experiment, settings)
        inits = inits_of(config.network.model) if every else [config.network.init]
        nets = {init: build_network(with_init(config, init), data) for init in inits}
    batch = data.train.batches(config.batch_size, config.seed).at(1)
    found = {init: inspect_network(net, batch.x, batch.labels) for init, net in nets.items()}
    copying = config.data.source == "copy-memory" and config.data.path is None
    memory = {init: remembered(net, data) if copying else None for init, net in nets.items()}
    if plot:
        save(inspection_figure(config, found, metrics), Path(plot))
    if json_:
        shown = {init: found[init].as_json() | _memory(memory[init]) for init in nets}
        about = {"experiment": config.experiment, "model": config.network.model, "seed": config.seed}
        one = {"init": config.network.init, **shown[next(iter(shown))]}
        click.echo(json.dumps(jsonable(about | ({"inits": shown} if every else one))))
    elif every:
        say(side_by_side_text(config, found, memory))
    else:
        ((init, inspection),) = found.items()
        say(inspection_text(config, inspection, memory[init]))


def _memory(memory: Any) -> dict[str, Any]:
    return {"memory": {"recall": memory.recall, "sensitivity": memory.sensitivity}} if memory else {}
