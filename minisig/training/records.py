"""A run's records and its summary: one definition each, for whoever writes them and whoever reads them.

    metrics.jsonl   a record a line: what `Logged` names and, where the run was validated, any number valid_NAME
    summary.json    what came out: what `Outcome` names, and any number train_NAME, valid_NAME or test_NAME

Which metrics there are depends on what is trained; nobody here knows them by name, but for the loss.
"""

import json
from base64 import b64decode
from collections.abc import Mapping
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec

from minisig.errors import DataError
from minisig.jsonable import jsonable
from minisig.training.files import read_file, require_known_format, write_file

METRICS, SUMMARY = "metrics.jsonl", "summary.json"
PARTS = ("train", "valid", "test")  # of the data, before the name of a metric

Record = dict[str, Any]
Summary = dict[str, Any]
Norm = Annotated[float, msgspec.Meta(ge=0)]
ByLayer = dict[str, float | None]  # None for a number that was not finite
NormByLayer = dict[str, Norm | None]
Values = dict[Annotated[str, msgspec.Meta(pattern=r"^[a-z]+_\w{1,60}\Z")], float | None]


class Logged(msgspec.Struct, frozen=True):
    """What a record has beside its metrics."""

    iteration: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    train_loss: float | None
    gradient_norm: NormByLayer  # before clipping
    gradient_norm_total: Norm | None = None
    gradient_norm_clipped: Norm | None = None
    activation_mean: ByLayer = {}
    activation_std: NormByLayer = {}
    statistics: list[dict[str, Any]] = []
    sample: Annotated[str, msgspec.Meta(max_length=100_000)] = ""  # what a model of texts wrote at a validation


Rows = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Number = Annotated[float, msgspec.Meta(ge=-1e308, le=1e308)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class LayerOutcome(msgspec.Struct, frozen=True):
    name: str
    gradient_norm_first: float
    gradient_norm_last: float


class ClassOutcome(msgspec.Struct, frozen=True, rename={"name": "class"}):
    name: int | float | str
    rows: Rows
    precision: Share | None
    recall: Share | None


class Mistake(msgspec.Struct, frozen=True, rename={"truth": "class"}):
    row: Rows
    truth: int | float | str
    answer: int | float | str
    p: Annotated[float, msgspec.Meta(ge=0, le=1.001)]
    image: str = ""  # its pixels, a byte each, in base64


class Residuals(msgspec.Struct, frozen=True):
    target: Annotated[list[Number], msgspec.Meta(min_length=1)]
    prediction: list[Number]


class Looked(msgspec.Struct, frozen=True):
    tokens: list[str]
    gradient: list[Number]


class Quality(msgspec.Struct, frozen=True):
    """How good the model is, see quality.py."""

    guessing: Annotated[float, msgspec.Meta(ge=0)] | None = None
    rows: Rows = 0
    usual: int | float | str | None = None
    classes: list[int | float | str] = []
    confusion: list[list[Rows]] = []
    per_class: list[ClassOutcome] = []
    mistakes: list[Mistake] = []
    image: tuple[Annotated[int, msgspec.Meta(ge=1, le=256)], Annotated[int, msgspec.Meta(ge=1, le=256)]] | None = None
    residuals: Residuals | None = None
    importance: dict[str, Number] = {}
    looked: Looked | None = None

    def __post_init__(self) -> None:
        sizes = {len(self.confusion), len(self.per_class), *map(len, self.confusion)}
        if self.confusion and sizes != {len(self.classes)}:
            raise ValueError("the confusion matrix does not fit the classes")
        if self.residuals and len(self.residuals.target) != len(self.residuals.prediction):
            raise ValueError("there are not as many predictions as targets")
        for pixels in (mistake.image for mistake in self.mistakes if mistake.image):
            if not self.image or len(b64decode(pixels, validate=True)) != self.image[0] * self.image[1]:
                raise ValueError("an image of a mistake has another size than it should")
        if self.looked and len(self.looked.tokens) != len(self.looked.gradient):
            raise ValueError("there are not as many gradients as tokens")


class Outcome(msgspec.Struct, frozen=True):
    """What a summary has, beside other metrics."""

    experiment: str
    model: str
    init: str
    seed: int
    backend: str
    dtype: str
    iterations: int
    parameters: int
    seconds: float
    best_iteration: int
    train_loss: float
    valid_loss: float
    test_loss: float
    baselines: dict[str, float]
    layers: Annotated[list[LayerOutcome], msgspec.Meta(min_length=1)]
    data: str = ""  # the hash of the user's own
    stopped_iteration: int | None = None  # of a run that was stopped early
    quality: Quality = Quality()


# Made at import: two threads that use a type of msgspec's for the first time at once crash the process.
_logged, _fields = msgspec.json.Decoder(Logged), msgspec.json.Decoder(dict[str, Any])


def metrics(values: Mapping[str, Any], *parts: str) -> dict[str, Any]:
    """The metrics in a record or a summary, of these parts of the data or of all.

    >>> metrics({"iteration": 7, "train_loss": 0.2, "valid_loss": 0.3, "valid_error": 9.0}, "valid")
    {'valid_loss': 0.3, 'valid_error': 9.0}
    """
    prefixes = tuple(f"{part}_" for part in parts or PARTS)
    return {name: value for name, value in values.items() if name.startswith(prefixes)}


def encode_record(record: Record) -> bytes:
    """One line of metrics.jsonl."""
    return (json.dumps(jsonable(record), allow_nan=False) + "\n").encode()


def read_records(path: Path) -> list[Record]:
    """All whole lines; the last may be one that a run is writing just now, or was when it was killed."""
    content = read_file(path)
    records: list[Record] = []
    layers: list[str] = []
    for number, line in enumerate(islice(BytesIO(content), content.count(b"\n")), 1):
        try:
            _logged.decode(line)
            record = _fields.decode(line)
            if measured := metrics(record, "valid"):
                msgspec.convert(measured, Values)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: {error}") from None
        layers = layers or _layers(record)
        if _layers(record) != layers or (records and record["iteration"] <= records[-1]["iteration"]):
            raise DataError(f"{path}, line {number}: its layers, or its iteration, do not follow the line before")
        records.append(record)
    return records


def _layers(record: Record) -> list[str]:
    return [*record["gradient_norm"], *record.get("activation_mean", ()), *record.get("activation_std", ())]


def write_summary(folder: Path, summary: Summary) -> None:
    write_file(folder / SUMMARY, json.dumps(jsonable(summary), indent=2, allow_nan=False).encode())


def read_summary(folder: Path) -> Summary | None:
    """What a finished run wrote, without what was not finite; None if it has not finished."""
    path = folder / SUMMARY
    if not path.exists():
        return None
    content = read_file(path)
    try:
        require_known_format(content)
        summary = _fields.decode(content)
        msgspec.convert(summary, Outcome)
        msgspec.convert(metrics(summary), Values)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, DataError) as error:
        raise DataError(f"{path}: {error}") from None
    return {name: value for name, value in summary.items() if value is not None}
