"""What `minisig inspect` found, for a person to read."""

from collections.abc import Mapping
from typing import Any

from minisig.diagnostics.inspection import Inspection
from minisig.diagnostics.memory import Memory
from minisig.report.tables import abridged, columns, network, number
from minisig.training.config import Config

# Column heads and the fields of a layer under them.
LAYER = {
    "logit mean": "logit_mean",
    "std": "logit_std",
    "of a neuron": "neuron_std",
    "entropy": "entropy",
    "(theory)": "theory_entropy",
    "saturated": "saturated",
    "|W|_F": "weight_frobenius",
    "|W|_2": "weight_spectral",
    "gradient": "gradient_norm",
}


def inspection_text(config: Config, inspection: Inspection, memory: Memory | None) -> str:
    """Logits, weights and gradients layer by layer, the bounds, and what is remembered."""
    rows = [
        [row["name"], "×".join(map(str, row["shape"])), *(number(row[field]) for field in LAYER.values())]
        for row in inspection.layers
    ]
    parts = [network(config), "", columns([("layer", "shape", *LAYER), *abridged(rows)])]
    if inspection.bounds:
        bounds = inspection.bounds
        head = (
            f"back from {bounds.rows[0].to} to",
            "measured",
            "real product",
            "spectral",
            "Frobenius",
            "slack, decades",
        )
        rows = [
            [
                row.to,
                *map(number, (row.measured, row.product_with_real_derivatives, row.spectral, row.frobenius, row.slack)),
            ]
            for row in bounds.rows
        ]
        title = "gradient of the loss with respect to the activations, and three bounds"
        parts += ["", title, columns([head, *abridged(rows)]), bounds.verdict]
    if memory:
        chosen: Any = config.data  # copy-memory's
        parts += [
            "",
            f"symbols decoded from the state after {chosen.delay} steps: {memory.recall:.1f} % (guessing 12.5 %)",
        ]
        if memory.sensitivity is not None:
            parts.append(f"sensitivity of the last state to the first: {memory.sensitivity:.2g}")
    return "\n".join(parts)


def side_by_side_text(
    config: Config, found: Mapping[str, Inspection], memory: Mapping[str, Memory | None] | None = None
) -> str:
    """Gradient norms of several initializations side by side, and a verdict for each."""
    inspections = found.values()
    names = [row["name"] for row in next(iter(inspections)).layers]
    rows = [
        [name, *(number(inspection.layers[i]["gradient_norm"]) for inspection in inspections)]
        for i, name in enumerate(names)
    ]
    verdicts = []
    for init, inspection in found.items():
        verdict = inspection.bounds.verdict if inspection.bounds else "–"
        kept = (memory or {}).get(init)
        verdicts.append([f"{init}: {verdict}", *([number(kept.recall), number(kept.sensitivity)] if kept else [])])
    if any((memory or {}).values()):
        verdicts.insert(0, ["", "decoded %", "sensitivity"])
    table = columns([("gradient norm of", *found), *abridged(rows)])
    return "\n".join([network(config, init=False), "", table, "", columns(verdicts)])
