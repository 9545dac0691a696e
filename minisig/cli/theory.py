"""minisig theory: the numbers of one neuron."""

import json
from pathlib import Path

import click

from minisig.cli.options import as_json, plot
from minisig.cli.values import finite

ROWS = {
    "mu": "mean of the logit, μ",
    "sigma": "standard deviation of the logit, σ",
    "best_sigma": "σ that maximizes the paper's H_B at this μ",
    "exact_best_sigma": "σ that maximizes the true entropy at this μ",
    "entropy": "entropy H(y), nats",
    "surrogate": "upper bound H_B(μ, σ)",
    "lower_bound": "lower bound H_B − 2 ln 2",
    "output_mean": "mean of the output, E y",
    "output_variance": "variance of the output, k = Var y",
    "row_norm": "weight norm that keeps σ in a deep net, σ/√k",
    "mean_derivative": "E g′(z)",
    "mean_squared_derivative": "E g′(z)²",
    "gain": "gradient gain a layer, χ",
    "depth_scale": "depth scale 1/|ln χ|, layers",
    "critical_width": "width below which vanishing is guaranteed",
}


@click.command(short_help="The numbers of one neuron.")
@click.option("--mu", type=float, default=0.0, callback=finite, show_default=True, help="Mean of the logit.")
@click.option(
    "--sigma", type=float, callback=finite, help="Its standard deviation.  [default: the best one for this mean]"
)
@plot
@as_json
def theory(mu: float, sigma: float | None, plot: str | None, json_: bool) -> None:
    """The numbers of a sigmoid neuron whose logit has mean μ and standard deviation σ.

    \b
    minisig theory                       the paper's optimum, (0, √(π/2))
    minisig theory --sigma 1.7488        where the true entropy is largest
    minisig theory --mu 1 --json
    minisig theory --plot neuron.png     its density, and H_B over μ and σ
    """
    from minisig.jsonable import jsonable
    from minisig.report.figures import neuron_figure, require_drawable, save
    from minisig.theory.describe import describe

    if plot:
        require_drawable(Path(plot))
    numbers = describe(mu, sigma)
    if plot:
        save(neuron_figure(mu, sigma), Path(plot))
    if json_:
        click.echo(json.dumps(jsonable(numbers)))
        return
    for name, value in numbers.items():
        click.echo(f"{ROWS[name]:<46}{value:>18.11g}")
