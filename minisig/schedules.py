"""Schedules: what the learning rate is multiplied with over the iterations.

constant    1
linear      falls to 0 from the first iteration to the end of training
cosine      the same along half a wave, slowly at both ends
step        × decay after every decay_every iterations
plateau     × decay once the validation loss has not fallen for `patience` validations
"""

from collections.abc import Callable
from math import cos, inf, pi
from typing import Annotated, ClassVar

import msgspec

from minisig import settings
from minisig.plugins import Table

Factor = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Count = Annotated[int, msgspec.Meta(gt=0, le=10**9)]


class Schedule:
    """The rate as it is; one of one's own overrides `factor`.

    Its settings, a class `Settings`, are the keyword arguments of its constructor.
    """

    knows_the_end: ClassVar[bool] = False  # then a run cannot be made longer without becoming another one
    state: dict[str, float]  # what a checkpoint must keep of it, if anything

    def __init__(self) -> None:
        self.state = {}

    def factor(self, iteration: int, iterations: int) -> float:
        """Of this iteration, from 1, out of so many."""
        return 1.0

    def validated(self, loss: float) -> None:
        """The validation loss was found to be this."""


class Linear(Schedule):
    """From 1 down to almost 0: the last iteration's is small, not 0."""

    knows_the_end = True

    def factor(self, iteration: int, iterations: int) -> float:
        return 1 - (iteration - 1) / iterations


class Cosine(Schedule):
    """½ (1 + cos πt) with t from 0 to almost 1."""

    knows_the_end = True

    def factor(self, iteration: int, iterations: int) -> float:
        return 0.5 * (1 + cos(pi * (iteration - 1) / iterations))


class Step(Schedule):
    """× decay after every `decay_every` iterations."""

    class Settings(settings.Settings, frozen=True):
        decay: Factor = 0.1
        decay_every: Count = 1000

    def __init__(self, decay: float = 0.1, decay_every: int = 1000) -> None:
        super().__init__()
        self.decay, self.decay_every = decay, decay_every

    def factor(self, iteration: int, iterations: int) -> float:
        return float(self.decay ** ((iteration - 1) // self.decay_every))


class Plateau(Schedule):
    """× decay once the validation loss has not fallen below its least for `patience` validations in a row."""

    class Settings(settings.Settings, frozen=True):
        decay: Factor = 0.5
        patience: Count = 3

    def __init__(self, decay: float = 0.5, patience: int = 3) -> None:
        super().__init__()
        self.decay, self.patience = decay, patience

    def factor(self, iteration: int, iterations: int) -> float:
        return self.state.get("factor", 1.0)

    def validated(self, loss: float) -> None:
        if loss < self.state.get("least", inf):
            self.state |= {"least": loss, "waited": 0}
            return
        self.state["waited"] = self.state.get("waited", 0) + 1
        if self.state["waited"] == self.patience:
            self.state |= {"factor": self.factor(0, 0) * self.decay, "waited": 0}


SCHEDULES: Table[Callable[..., Schedule]] = Table(
    "schedules", {"constant": Schedule, "linear": Linear, "cosine": Cosine, "step": Step, "plateau": Plateau}
)
