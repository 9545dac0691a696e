"""minisig inspect: look at a network before it is trained."""

import json
import math
from typing import Any

import click

from minisig.cli.options import as_json, network_options, overrides


@click.command()
@network_options
@as_json
def inspect(experiment: str, json_: bool, **options: Any) -> None:
    """Look at the untrained network of EXPERIMENT: logits, gradients, memory.

    \b
    minisig inspect                                digits, random+ep
    minisig inspect copy-memory --init ortho+ep    what an untrained RNN remembers
    """
    from minisig.data import Sequences, load
    from minisig.diagnostics.memory import remembered
    from minisig.experiments import configure
    from minisig.gradients import layer_norms
    from minisig.training.run import build_network

    config = configure(experiment, overrides(**options))
    data = load(config.data, seed=config.seed)
    net = build_network(config, data)
    batch = data.train.batches(config.batch_size, config.seed).at(1)
    norms = layer_norms(net.trace(batch.x, batch.labels).gradient_norms())
    logits = {row.layer: row for row in net.account.layers} if net.account else {}
    layers = [
        {
            "name": name,
            "logit_mean": logits[name].mean if name in logits else None,
            "logit_std": logits[name].std if name in logits else None,
            "neuron_std": logits[name].neuron_std if name in logits else None,
            "gradient_norm": norm,
        }
        for name, norm in norms.items()
    ]
    memory = remembered(net, data) if isinstance(data.train, Sequences) else None
    if json_:
        found: dict[str, Any] = {"experiment": experiment, "init": config.network.init, "layers": layers}
        if memory:
            reach = memory.sensitivity if math.isfinite(memory.sensitivity) else None
            found["memory"] = {"recall": memory.recall, "sensitivity": reach}
        click.echo(json.dumps(found))
        return
    click.echo(net.account)
    click.echo(f"\n{'layer':<14}{'gradient norm':>14}")
    for name, norm in norms.items():
        click.echo(f"{name:<14}{norm:>14.3g}")
    if memory:
        click.echo(
            f"\nsymbols read from the state after {config.data.delay} steps   {memory.recall:.1f} %  (guessing 12.5 %)"
        )
        if math.isfinite(memory.sensitivity):
            click.echo(f"sensitivity of the last state to the first    {memory.sensitivity:.2g}")
