"""All that a run needs to go on as if it had never stopped, in one safetensors file.

    param.NAME, best.NAME       parameters now, and those that validated best
    slot.NAME.SLOT              what the optimizer remembers
    state.LAYER.N               recurrent states carried to the next batch
    metadata                    iteration, scores and the like, as JSON

Batches, dropout masks and distortions are functions of the seed and the iteration alone (see seeds.py): the iteration
is the state of every random generator and the position in the data.
"""

from pathlib import Path
from typing import Annotated

import msgspec

from minisig.errors import DataError
from minisig.training.files import read_tensors, write_tensors
from minisig.training.loop import Training

CHECKPOINT = "checkpoint.safetensors"

Norms = dict[str, float]


class Position(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a run stands, beside its arrays."""

    iteration: int
    best_iteration: int
    best_score: dict[str, float | None] | None
    schedule: dict[str, float] = {}
    content: str = ""  # the hash of the user's own data
    metrics_bytes: Annotated[int, msgspec.Meta(ge=0)]  # of metrics.jsonl by now; what comes later is made again
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    first: Norms  # of the layers' gradients in the first and the last record so far, for the summary
    last: Norms


def save_checkpoint(
    folder: Path, training: Training, *, metrics_bytes: int, seconds: float, first: Norms, last: Norms
) -> None:
    arrays, numbers = training.state()
    position = Position(
        **numbers, content=training.data.content, metrics_bytes=metrics_bytes, seconds=seconds, first=first, last=last
    )
    on_host = {name: training.net.backend.to_host(values) for name, values in arrays.items()}
    write_tensors(folder / CHECKPOINT, on_host, {"position": msgspec.json.encode(position).decode()})


def load_checkpoint(folder: Path, training: Training) -> Position | None:
    """Bring a training that has not begun to where the checkpoint in `folder` stands; None if there is none yet."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    tensors, metadata = read_tensors(path)
    try:
        position = msgspec.json.decode(metadata.get("position", ""), type=Position)
        layers = {name for name, layer in training.net.layers.items() if layer.params}
        if not layers == position.first.keys() == position.last.keys():
            raise DataError(f"its gradient norms are not those of the layers {', '.join(sorted(layers))}")
        if position.content and position.content != training.data.content:
            raise DataError(
                "the data have changed since this run began, it would go on as another: bring them back, or start a "
                "new run"
            )
        training.load_state(tensors, msgspec.structs.asdict(position))
    except (msgspec.MsgspecError, RecursionError, DataError) as error:
        raise DataError(f"{path}: {error}") from None
    return position
