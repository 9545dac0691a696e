"""Tables for people, as text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minisig.training.config import Config

MOST_LAYERS = 14  # shown; of a deeper network the first and last half of so many
VANISHED = 1e-3  # a first layer's gradient below this share of the last layer's is called vanished


def summary_text(summary: dict[str, Any], config: Config, folder: Path) -> str:
    """What was trained, each layer's gradient norm at the first and the last iteration, and the result."""
    layers = summary["layers"]
    lines = [
        f"{summary['experiment']} · {summary['init']} · {config.network.model}, {_hidden(config.network.hidden)} · "
        f"{summary['parameters']:,} parameters · learning rate {config.optimizer.learning_rate:.3g} · "
        f"seed {summary['seed']} · {summary['backend']} {summary['dtype']}",
        "",
        f"{'gradient norm of':<18}{'iteration 1':>14}{'iteration ' + format(summary['iterations'], ','):>18}",
        *(_layer(row) for row in _abridged(layers)),
        "",
        *([_verdict(layers, summary["init"])] if summary["model"] == "mlp" else []),
        f"{_result(summary)}   test loss {summary['test_loss']:.4f}   "
        f"(iteration {summary['best_iteration']:,}, chosen by validation loss {summary['valid_loss']:.4f})",
        f"{summary['seconds']:.1f} s, run saved in {folder}",
    ]
    return "\n".join(lines)


def _result(summary: dict[str, Any]) -> str:
    if "test_error" in summary:
        return f"test error {summary['test_error']:.2f} %"
    baselines = ", ".join(f"{name} {value:,.6g}" for name, value in summary["baselines"].items())
    recall = f"   recall {summary['test_recall']:.1f} %" if "test_recall" in summary else ""
    return f"test perplexity {summary['test_perplexity']:.6g} ({baselines}){recall}"


def _hidden(sizes: Sequence[int]) -> str:
    if len(set(sizes)) == 1 and len(sizes) > 1:
        return f"{len(sizes)} hidden layers of {sizes[0]}"
    return "hidden " + "-".join(str(size) for size in sizes)


def _abridged(layers: Sequence[dict[str, Any]]) -> list[dict[str, Any] | None]:
    if len(layers) <= MOST_LAYERS:
        return list(layers)
    half = MOST_LAYERS // 2
    return [*layers[:half], None, *layers[-half:]]


def _layer(row: dict[str, Any] | None) -> str:
    if row is None:
        return "…"
    return f"{row['name']:<18}{row['gradient_norm_first']:>14.2e}{row['gradient_norm_last']:>18.2e}"


def _verdict(layers: Sequence[dict[str, Any]], init: str) -> str:
    first, last = layers[0]["gradient_norm_first"], layers[-1]["gradient_norm_first"]
    share = first / last if last else 0.0
    sentence = f"At the start the first layer's gradient is {share:.1e} times the last layer's: "
    if share >= VANISHED:
        return sentence + "alive."
    return sentence + "vanished." + ("" if init == "random+ep" else " Try --init random+ep.")
