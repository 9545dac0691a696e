"""best.safetensors: the selected parameters, and in its metadata all that makes a model of them.

The metadata's entry "minisig" is a `ModelInfo` as JSON: the configuration, how rows, images or words become inputs,
what the outputs stand for, what came out, and the hash of the data. Whoever has this one file has the model; nothing in
it is code, and no size in it is believed before the arrays bear it out.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from minisig import __version__
from minisig.data import Dataset, Split
from minisig.data.prepared import (
    EOS,
    UNK,
    UNKNOWN_CHARACTER,
    Prepared,
    Scale,
    TableInputs,
    TargetColumns,
    TextInputs,
    VectorInputs,
    as_word,
)
from minisig.data.sequences import Text
from minisig.data.tables import LOSS
from minisig.data.text import own_name
from minisig.diagnostics.finite import first_not_finite
from minisig.errors import BackendUnavailable, DataError, MinisigError, OutOfMemory, one_line, require_known
from minisig.jsonable import jsonable
from minisig.losses import LOSSES
from minisig.models import MLP, MODELS, Recurrent, build_network
from minisig.network import Network
from minisig.settings import replaced
from minisig.training.config import Config, checked_config
from minisig.training.files import FORMAT, read_tensors, write_tensors

BEST = "best.safetensors"
KEY = "minisig"
STAND_IN_ROWS = 64
STAND_IN_CELLS = 10**6
OF_CLASSES = ("softmax-cross-entropy", "sigmoid-cross-entropy")  # losses that know no units

Size = Annotated[int, msgspec.Meta(ge=1, le=10**7)]
Word = Annotated[str, msgspec.Meta(max_length=1000)]


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a model beside its parameters."""

    format: Annotated[int, msgspec.Meta(ge=1)]
    version: Annotated[str, msgspec.Meta(max_length=40)]
    config: dict[str, Any]  # without the folders on the way to the data
    name: Word  # of the data
    inputs: Size  # of vectors, or different tokens
    outputs: Size
    loss: Word
    sequences: bool = False
    units: list[Scale] | None = None
    prepared: Prepared | None = None
    content: Word = ""  # the hash of the user's own data
    summary: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(ModelInfo)


def model_info(config: Config, data: Dataset, summary: Mapping[str, Any]) -> ModelInfo:
    sequences = not isinstance(data.train, Split)
    if config.data.path:
        own: dict[str, Any] = {"path": own_name(Path(config.data.path))}
        if more := getattr(config.data, "more", ()):
            own["more"] = tuple(own_name(Path(name)) for name in more)
        config = replace(config, data=replace(config.data, **own))
    return ModelInfo(
        format=FORMAT,
        version=__version__,
        config=msgspec.to_builtins(config),
        name=data.name,
        inputs=data.classes if sequences else data.train.x.shape[1],
        outputs=data.classes,
        loss=data.loss,
        sequences=sequences,
        units=data.of_loss.get("units"),
        prepared=data.prepared,
        content=data.content,
        summary=jsonable({name: value for name, value in summary.items() if name != "seconds"}),  # the same bits again
    )


def write_model(path: Path, params: Mapping[str, np.ndarray], info: ModelInfo) -> None:
    write_tensors(path, params, {KEY: msgspec.json.encode(info).decode()})


def read_model(path: Path) -> tuple[ModelInfo | None, dict[str, Any]]:
    """What a model file says, and its parameters; no more than these if it is of a minisig before 0.2."""
    params, metadata = read_tensors(path)
    if KEY not in metadata:
        return None, params
    try:
        info = _decoder.decode(metadata[KEY])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {one_line(error)}") from None
    if info.format > FORMAT:
        raise DataError(
            f"{path}: made by minisig {info.version[:20]}, format {info.format}, this minisig reads up to {FORMAT}: "
            f"update minisig"
        )
    return info, params


def model_config(info: ModelInfo, path: Path) -> Config:
    try:
        return checked_config(info.config)
    except MinisigError as error:
        raise DataError(f"{path}: {error}") from None


def network_of(info: ModelInfo, params: Mapping[str, Any], path: Path, backend: str | None = None) -> Network:
    """The network that the file holds, without the data it was trained on."""
    config = model_config(info, path)
    if backend:
        config = replace(config, backend=backend)
    try:
        require_known("loss", info.loss, LOSSES)
        _require_sizes(info, config, params)
        model = MODELS[config.network.model]
        if isinstance(model, MLP | Recurrent):  # whose parameters need not be drawn with care to be replaced
            config = checked_config(replaced(msgspec.to_builtins(config), {"network": {"init": "glorot"}}, Config))
        net = build_network(replace(config, batch_size=1), _stand_in(info))
        net.load({name: np.asarray(values) for name, values in params.items()})
    except (BackendUnavailable, OutOfMemory):  # which are no fault of the file
        raise
    except (MinisigError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None
    if where := first_not_finite(net):
        raise DataError(f"{path}: {where} has entries that are not finite")
    net.account = None
    return net


def _require_sizes(info: ModelInfo, config: Config, params: Mapping[str, Any]) -> None:
    """Refuse sizes that the arrays do not bear out, before memory is taken for them."""
    if isinstance(MODELS[config.network.model], MLP | Recurrent):
        total = sum(array.size for array in params.values())
        sizes = [info.inputs, *config.network.hidden, info.outputs]
        products = [a * b for a, b in pairwise(sizes)]
        if info.sequences:
            products += [H * H for H in config.network.hidden]
        if sum(products) > total or len(sizes) > len(params) + 2:
            raise DataError(f"its arrays are not those of a network {' → '.join(map(str, sizes[:8]))}: it is damaged")
    require_known("loss", info.loss, LOSSES)
    units = info.units is None or (len(info.units) == info.outputs and info.loss not in OF_CLASSES)
    if not units or not _fits(info, info.prepared):
        raise DataError("what it says of inputs and outputs does not fit together: it is damaged")


def _fits(info: ModelInfo, prepared: Prepared | None) -> bool:
    """Whether the inputs are made, and the outputs meant, as the network has them."""
    match prepared:
        case TableInputs(columns=columns, target=target):
            names, widths = prepared.names, [column.width for column in columns]
            fits = sum(widths) == info.inputs and all(widths) and len(set(names)) == len(names)
            fits &= target.outputs == info.outputs and len(set(target.names)) == len(target.names) > 0
            return fits and not info.sequences and info.loss == LOSS[target.task] and _answers(target)
        case VectorInputs(classes=classes, centre=centre, half=half, image=image):
            fits = prepared.inputs == info.inputs and len(centre) == len(half) and len(centre) in (0, info.inputs)
            fits &= len(set(classes)) == len(classes) and len(classes) in (0, info.outputs)
            return fits and not info.sequences and (image is None or image[0] * image[1] == info.inputs)
        case TextInputs(tokens=tokens, vocabulary=words):
            needed = {"words": {EOS, UNK}, "characters": {"\n", UNKNOWN_CHARACTER}, "bytes": set[str]()}[tokens]
            fits = info.sequences and prepared.size == info.outputs == info.inputs and needed <= set(words)
            fits &= tokens != "characters" or all(len(token) == 1 for token in words)
            fits &= len(words) == (len(set(words)) if tokens != "bytes" else 0)
            return fits and info.loss == "softmax-cross-entropy"
    return True


def _answers(target: TargetColumns) -> bool:
    """Whether every answer has one meaning."""
    words = [as_word(label) for label in target.classes]
    if target.task == "classification":
        return len(target.names) == 1 and len(set(words)) == len(words) > 1
    if target.task == "labels":
        pairs = zip(words[::2], words[1::2], strict=False)
        return len(words) == 2 * len(target.names) and all(no != yes for no, yes in pairs)
    return not words and len(target.centre) == len(target.scale) == len(target.names)


def _stand_in(info: ModelInfo) -> Dataset:
    """Data of the same form."""
    if info.sequences:
        part: Any = Text(np.arange(2 + info.inputs) % info.inputs, steps=2)
    else:
        rows = max(2, min(STAND_IN_ROWS, STAND_IN_CELLS // max(info.inputs, info.outputs)))
        x = np.random.default_rng(0).uniform(-1, 1, (rows, info.inputs)).astype(np.float32)
        labels = np.arange(rows) % info.outputs
        part = Split(x, labels if info.loss == "softmax-cross-entropy" else np.zeros((rows, info.outputs)))
    of_loss: dict[str, Any] = {"units": info.units} if info.units else {}
    if isinstance(info.prepared, TextInputs):
        of_loss = info.prepared.of_loss
    return Dataset(info.name, part, part, part, info.outputs, loss=info.loss, of_loss=of_loss)
