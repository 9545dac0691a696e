"""Tables for people, as text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minisig.diagnostics.bounds import Bound
from minisig.diagnostics.inspection import Inspection
from minisig.diagnostics.memory import Memory
from minisig.training.config import Config

MOST_LAYERS = 14  # shown; of a deeper network the first and last half of so many
VANISHED = 1e-3  # a first layer's gradient below this share of the last layer's is called vanished


def summary_text(summary: dict[str, Any], config: Config, folder: Path) -> str:
    """What was trained, each layer's gradient norm at the first and the last iteration, and the result."""
    layers = summary["layers"]
    lines = [
        f"{_network(config)} · "
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


def inspection_text(config: Config, inspection: Inspection, memory: Memory | None) -> str:
    """Logits, weights and gradients layer by layer, the bounds, and what is remembered."""
    head = (
        "layer",
        "shape",
        "logit mean",
        "std",
        "of a neuron",
        "entropy",
        "(theory)",
        "saturated",
        "|W|_F",
        "|W|_2",
        "gradient",
    )
    rows: list[Sequence[str]] = [head]
    for row in _abridged(inspection.layers):
        if row is None:
            rows.append(["…"] + [""] * (len(head) - 1))
            continue
        numbers = [row[key] for key in NUMBERS]
        rows.append([row["name"], "×".join(map(str, row["shape"])), *(_number(value) for value in numbers)])
    parts = [_network(config), "", _columns(rows)]
    if inspection.bounds:
        bounds = inspection.bounds
        rows = [
            (f"back from {bounds.rows[0].to} to", "measured", "real product", "spectral", "Frobenius", "slack, decades")
        ]
        for bound in _abridged(bounds.rows):
            rows.append(
                ["…"] + [""] * 5 if bound is None else [bound.to, *(_number(value) for value in _values(bound))]
            )
        parts += ["", "gradient of the loss by the activities, and three bounds", _columns(rows), bounds.verdict]
    return "\n".join(parts + _memory(config, memory))


def _values(bound: Bound) -> list[float]:
    return [bound.measured, bound.product_with_real_derivatives, bound.spectral, bound.frobenius, bound.slack]


def comparison_text(config: Config, found: Mapping[str, Inspection], memory: Mapping[str, Memory | None]) -> str:
    """Gradient norms of several initializations side by side, and a verdict for each."""
    rows: list[Sequence[str]] = [("gradient norm of", *found)]
    names = [row["name"] for row in next(iter(found.values())).layers]
    for i in _abridged(range(len(names))):
        rows.append(
            ["…"] + [""] * len(found)
            if i is None
            else [names[i], *(_number(inspection.layers[i]["gradient_norm"]) for inspection in found.values())]
        )
    verdicts: list[Sequence[str]] = []
    for init, inspection in found.items():
        verdict = inspection.bounds.verdict if inspection.bounds else "–"
        verdicts.append([f"{init}   {verdict}", *_remembered(memory[init])])
    if any(memory.values()):
        verdicts.insert(0, ["", "decoded %", "sensitivity"])
    parts = [_network(config, with_init=False), "", _columns(rows), "", _columns(verdicts)]
    return "\n".join(parts)


def _remembered(memory: Memory | None) -> list[str]:
    return [] if memory is None else [_number(memory.recall), _number(memory.sensitivity)]


NUMBERS = (
    "logit_mean",
    "logit_std",
    "neuron_std",
    "entropy",
    "theory_entropy",
    "saturated",
    "weight_frobenius",
    "weight_spectral",
    "gradient_norm",
)


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.3g}"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Aligned: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _memory(config: Config, memory: Memory | None) -> list[str]:
    if memory is None:
        return []
    lines = [f"symbols read from the state after {config.data.delay} steps: {memory.recall:.1f} % (guessing 12.5 %)"]
    if memory.sensitivity is not None:
        lines.append(f"sensitivity of the last state to the first: {memory.sensitivity:.2g}")
    return lines


def _network(config: Config, *, with_init: bool = True) -> str:
    init = f"{config.network.init} · " if with_init else ""
    return f"{config.experiment} · {init}{config.network.model}, {_hidden(config.network.hidden)}"


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


def _abridged(rows: Sequence[Any]) -> list[Any]:
    """All rows, or the first and last of too many with None between them."""
    half = MOST_LAYERS // 2
    return list(rows) if len(rows) <= MOST_LAYERS else [*rows[:half], None, *rows[-half:]]


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
