"""Which data, and how much of them: the part `data` of a run's configuration."""

from typing import Annotated

import msgspec


class DataConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    path: str | None = None  # the user's own file or folder, in place of the source
    delay: Annotated[int, msgspec.Meta(gt=0, le=100_000)] = (
        100  # copy-memory: steps between symbols and recall, the paper's T
    )
    steps: Annotated[int, msgspec.Meta(gt=0, le=100_000)] = 35  # text: steps of a training window
    vocabulary: Annotated[int, msgspec.Meta(gt=2, le=10_000_000)] = (
        10_000  # text: words with a number of their own, at most
    )
