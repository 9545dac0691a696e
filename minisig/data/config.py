"""Which data, and how much of them: the part `data` of a run's configuration."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from minisig.errors import UsageError

S = TypeVar("S", bound=msgspec.Struct)

Size = Annotated[float, msgspec.Meta(ge=0, le=1e3)]
Degrees = Annotated[float, msgspec.Meta(ge=0, le=180)]
Steps = Annotated[int, msgspec.Meta(gt=0, le=100_000)]
Words = Annotated[int, msgspec.Meta(gt=2, le=10_000_000)]


class Augment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How training images are distorted, see augment.py; the numbers are the paper's."""

    alpha: Size = 37.0  # elastic displacements: uniform noise in ±alpha pixels …
    sigma: Annotated[float, msgspec.Meta(ge=1e-3, le=1e3)] = 5.5  # … smoothed by a Gaussian of so many pixels
    rotation: Degrees = 15.0  # degrees at most, either way
    narrow_rotation: Degrees = 7.5  # the same for the narrow classes
    narrow: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] = (1, 7)
    scaling: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.175  # width and height change by this share at most


class DataConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    path: Annotated[str, msgspec.Meta(pattern=r"^[^\x00]+$")] | None = None  # the user's own, in place of the source
    hold_out: bool = True  # the validation part; if not, it is trained on too and the last parameters are the result
    augment: Augment | None = None  # of images: distort those that are trained on
    delay: Steps = 100  # copy-memory: steps between symbols and recall, the paper's T
    steps: Steps = 35  # text: steps of a training window
    vocabulary: Words = 10_000  # text: words with a number of their own, at most


def checked(fields: Mapping[str, Any] | S, kind: type[S]) -> S:
    """Settings of this kind, their types and ranges checked, which msgspec leaves out if one makes them by hand."""
    plain = msgspec.to_builtins(fields, enc_hook=_plain)
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        # Expected `int` >= 1, or Expected `int`, got `str`; and then  - at `$.network.hidden[0]`
        expected, _, place = str(error).replace("`", "").partition(" - at $.")
        came: Any = plain
        for step in place.partition("[")[0].split("."):
            came = came.get(step) if isinstance(came, Mapping) else came
        expected = expected[:1].lower() + expected.partition(", got ")[0][1:]
        raise UsageError(f"{place or kind.__name__}: {expected}, got {came!r}"[:300]) from None


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise UsageError(f"expected settings that are numbers, words or lists of them, got {type(value).__name__}")
