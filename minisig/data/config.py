"""Which data, and how much of them: the part `data` of a run's configuration."""

from typing import Annotated

import msgspec

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
