"""What came out of a run, for a person to read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minisig.diagnostics.bounds import DEAD, EXPLODED
from minisig.losses import metric
from minisig.report.labels import split
from minisig.report.quality import quality_text
from minisig.report.tables import abridged, columns, network
from minisig.training.config import Config
from minisig.training.records import metrics

BASELINES = {"unigram": "unigram on the validation text"}  # names that need to say more than a summary's do


def summary_text(summary: Mapping[str, Any], config: Config, folder: Path, report: str | None = None) -> str:
    """What was trained, each layer's gradient norm at the first and the last iteration, and the result."""
    layers = summary["layers"]
    head = ("gradient norm of", "iteration 1", f"iteration {last_iteration(summary):,}")
    rows = [(row["name"], f"{row['gradient_norm_first']:.2e}", f"{row['gradient_norm_last']:.2e}") for row in layers]
    lines = [
        network(config),
        f"{summary['parameters']:,} parameters · learning rate {config.optimizer.learning_rate:.3g} · "
        f"seed {summary['seed']} · {summary['backend']} {summary['dtype']}",
        "",
        columns([head, *abridged(rows)]),
        "",
        *([verdict(layers, summary["init"])] if summary["model"] == "mlp" else []),
        result(summary),
        *quality_text(summary),
        _selection(summary, config),
        f"{summary['seconds']:.1f} s, saved in {folder}{f', see {report} there' if report else ''}",
    ]
    return "\n".join(lines)


def last_iteration(summary: Mapping[str, Any]) -> int:
    """How far a finished run came, which may have been stopped early."""
    found: int = summary.get("stopped_iteration", summary["iterations"])
    return found


def _selection(summary: Mapping[str, Any], config: Config) -> str:
    if not config.data.hold_out:
        return f"not selected: the validation part was trained on too, to iteration {summary['best_iteration']:,}"
    early = summary.get("stopped_iteration")
    waited = last_iteration(summary) - summary["best_iteration"]
    stopped = f"; stopped at iteration {early:,}, after {waited:,} without a better one" if early else ""
    return (
        f"selected by validation {config.select_by} at iteration {summary['best_iteration']:,}, where the validation "
        f"loss is {summary['valid_loss']:.4f}{stopped}"
    )


def result(summary: Mapping[str, Any]) -> str:
    """The selected network on the test data, the loss last, baselines beside the first of the other metrics."""
    found = {split(name)[1]: value for name, value in metrics(summary, "test").items()}
    told = [f"{name} {metric(name).shown(value)}" for name, value in found.items() if name != "loss"]
    baselines = {name: value for name, value in summary["baselines"].items() if name != "guessing"}  # told elsewhere
    if told and baselines:
        named = (f"{BASELINES.get(name, name)} {value:,.6g}" for name, value in baselines.items())
        told[0] += f" ({', '.join(named)})"
    loss = f"test loss {metric('loss').shown(found['loss'])}"
    return ", ".join([f"test {told[0]}", *told[1:], loss] if told else [loss])


def verdict(layers: Sequence[Mapping[str, Any]], init: str) -> str:
    share, flow = gradient_flow(layers[0]["gradient_norm_first"], layers[-1]["gradient_norm_first"])
    sentence = f"at the start the first layer's gradient was {share:.2g} times the last one's: {flow}"
    return sentence if flow == "alive" or init == "random+ep" else f"{sentence}\ntry --init random+ep"


def gradient_flow(first: float, last: float) -> tuple[float, str]:
    """What is left of the last layer's gradient norm in the first layer, and a word for it."""
    share = first / last if last else 0.0
    return share, "alive" if DEAD <= share <= EXPLODED else "vanished" if share < DEAD else "exploded"
