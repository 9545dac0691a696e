"""Which data, and how much of them: the part `data` of a run's configuration."""

from typing import Annotated, ClassVar

import msgspec

from minisig.data.sources import SOURCES
from minisig.settings import Part, Parts, Settings

Size = Annotated[float, msgspec.Meta(ge=0, le=1e3)]
Degrees = Annotated[float, msgspec.Meta(ge=0, le=180)]


class Augment(Settings, frozen=True):
    """How training images are distorted, see augment.py; the numbers are the paper's."""

    alpha: Size = 37.0  # elastic displacements: uniform noise in ±alpha pixels …
    sigma: Annotated[float, msgspec.Meta(ge=1e-3, le=1e3)] = 5.5  # … smoothed by a Gaussian of so many pixels
    rotation: Degrees = 15.0  # degrees at most, either way
    narrow_rotation: Degrees = 7.5  # the same for the narrow classes
    narrow: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] = (1, 7)
    scaling: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.175  # width and height change by this share at most


class DataConfig(Settings, frozen=True, kw_only=True):
    """Beside these the settings that the source has, such as copy-memory's `delay`."""

    parts: ClassVar[Parts] = {"source": Part(SOURCES)}

    source: str  # a name in SOURCES
    path: Annotated[str, msgspec.Meta(pattern=r"^[^\x00]+$")] | None = None  # of the user's own data
    hold_out: bool = True  # the validation part; if not, it is trained on too and the last parameters are the result
    augment: Augment | None = None  # of images: distort those that are trained on
