"""All that a run needs to go on as if it had never stopped, in one safetensors file.

    param.NAME, best.NAME       parameters now, and those that validated best
    slot.NAME.SLOT              what the optimizer remembers
    state.LAYER.N               recurrent states carried to the next batch
    metadata                    iteration, scores and the like, as JSON

Batches, dropout masks and distortions are functions of the seed and the iteration alone (see seeds.py): the iteration
is the state of every random generator and the position in the data.
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from minisig.errors import DataError
from minisig.losses import Score
from minisig.training.files import read_tensors, write_tensors
from minisig.training.loop import Training

CHECKPOINT = "checkpoint.safetensors"

Norms = dict[str, float]


class Position(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a run stands, beside its arrays."""

    iteration: int
    best_iteration: int
    best_score: dict[str, float] | None
    metrics_bytes: Annotated[int, msgspec.Meta(ge=0)]  # of metrics.jsonl by now; what comes later is made again
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    first: Norms  # of the layers' gradients in the first and the last record so far, for the summary
    last: Norms


def save_checkpoint(folder: Path, training: Training, position: Position) -> None:
    to_host = training.net.backend.to_host
    arrays = {name: to_host(values) for name, values in _arrays(training).items()}
    write_tensors(folder / CHECKPOINT, arrays, {"position": msgspec.json.encode(position).decode()})


def load_checkpoint(folder: Path, training: Training) -> Position | None:
    """Bring a training that has not begun to where the checkpoint in `folder` stands; None if there is none yet."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    tensors, metadata = read_tensors(path)
    try:
        position = msgspec.json.decode(metadata.get("position", ""), type=Position)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from None
    if not 0 <= position.best_iteration <= position.iteration <= training.config.iterations or (
        (position.best_score is None) != (position.best_iteration == 0)
    ):
        raise DataError(
            f"{path}: iteration {position.iteration} of {training.config.iterations}, the best one "
            f"{position.best_iteration} with {position.best_score}: that makes no sense"
        )
    layers = {name for name, layer in training.net.layers.items() if layer.params}
    if not layers == position.first.keys() == position.last.keys():
        raise DataError(f"{path}: its gradient norms are not those of the layers {', '.join(sorted(layers))}")
    net, optimizer, xp = training.net, training.optimizer, training.net.backend.xp
    optimizer.slots = {
        name: {slot: xp.zeros_like(w) for slot in optimizer.slot_names} for name, w in net.params.items()
    }
    if any(getattr(layer, "carries", False) for layer in net.layers.values()):  # states of the right shape
        training.states = net.advance(training.batches.at(1).x)[1]
    wanted = _arrays(training)
    for name in sorted({*wanted, *tensors}):
        have, need = tensors.get(name), wanted.get(name)
        if have is None or need is None or have.shape != need.shape or have.dtype != need.dtype:
            raise DataError(f"{path}: {name} does not fit the network of {folder / 'config.json'}")
        if not np.isfinite(have).all():
            raise DataError(f"{path}: {name} has entries that are not finite")
    for name, values in wanted.items():
        values[...] = xp.asarray(tensors[name])
    training.iteration = position.iteration
    training.best_iteration, training.best_score = (
        position.best_iteration,
        Score(position.best_score) if position.best_score else None,
    )
    optimizer.steps = position.iteration
    return position


def _arrays(training: Training) -> dict[str, Any]:
    """The arrays of a run by their names in the file."""
    arrays = {f"param.{name}": w for name, w in training.net.params.items()}
    arrays |= {f"best.{name}": w for name, w in training.best.items()}
    for name, slots in training.optimizer.slots.items():
        arrays |= {f"slot.{name}.{slot}": values for slot, values in slots.items()}
    for layer, state in training.states.items():
        parts = state if isinstance(state, tuple) else (state,)
        arrays |= {f"state.{layer}.{i}": part for i, part in enumerate(parts)}
    return arrays
