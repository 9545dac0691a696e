"""minisig settings: what can be set about an experiment."""

import json
from typing import Any

import click

from minisig.cli.options import FROM_CONFIG, INIT, PARTS, all_of, as_json, experiment_argument
from minisig.cli.output import say
from minisig.cli.overrides import overrides


@click.command(short_help="What can be set, and who brings it.")
@all_of(experiment_argument(default="digits"), INIT, *PARTS, *FROM_CONFIG)
@as_json
def settings(experiment: str, json_: bool, **options: Any) -> None:
    """Every setting of EXPERIMENT by the name that --set knows it by, with its value and the part that brings it.

    Where a setting names a part, such as an optimizer, the parts there are come
    with it, those of other installed projects included, and bring settings of
    their own.

    \b
    minisig settings
    minisig settings copy-memory --model lstm
    minisig settings digits --set optimizer.name=adamw
    """
    from minisig.experiments import configure
    from minisig.experiments import settings as values
    from minisig.report.tables import columns, setting
    from minisig.settings import explained

    config = configure(experiment, overrides(experiment, **options))
    if json_:
        click.echo(json.dumps(values(config)))
        return
    found = list(explained(config))
    say(columns([(one.name, setting(one.value, 40), f"of {one.owner}" if one.owner else "") for one in found]))
    for one in found:
        if one.choices:
            say(f"\n{one.name}: {', '.join(one.choices)}")
