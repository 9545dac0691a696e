"""The live display while training: a bar, speed, time left and losses, and under them the gradient of every layer.

    ━━━━━━━╸━━━━ 1860/3000 812 it/s 0:00:01 loss 2.302 valid error 90.67 %
    gradients 2e-07 … 7e-01, input first, a step is a factor of ten: ▂▃▃▄▅▆▇██

It works with the last record whenever it draws, a few times a second; while training it keeps that record.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from math import floor, log10

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from minisig.diagnostics.bounds import DEAD
from minisig.errors import printable
from minisig.losses import metric
from minisig.training.loop import Training
from minisig.training.observers import Observer
from minisig.training.records import Record, metrics

REFRESHES = 4  # a second
LEVELS = "·▁▂▃▄▅▆▇█"  # nothing at all; then a step for every decade below the largest, seven of them or more the lowest
ASCII_LEVELS = "012345678"  # for a terminal that has no other letters


class Speed(ProgressColumn):
    """Iterations a second of a run; nothing for the bar that counts runs."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.3g} it/s" if task.speed and "run" in task.fields else "")


class Display(Progress):
    """Tasks as rich draws them, one of which may be a run whose records are shown."""

    def __init__(self) -> None:
        self.run: TaskID | None = None
        self.record: Record | None = None  # what super() draws with already
        self.valid = self.sample = ""
        super().__init__(
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            Speed(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            refresh_per_second=REFRESHES,
            transient=True,
        )

    def follow(self, iterations: int) -> None:
        """A run of so many comes, in the place of the one before."""
        self.record, self.valid, self.sample = None, "", ""
        if self.run is None:
            self.run = self.add_task("", total=iterations, run=True)
        else:
            self.reset(self.run, total=iterations, description="")

    def show(self, record: Record) -> None:
        self.record = record
        self.sample = record.get("sample") or self.sample
        if found := metrics(record, "valid"):
            name, value = list(found.items())[-1]  # the one that tells most comes last
            self.valid = f"{name.replace('_', ' ')} {metric(name.removeprefix('valid_')).shown(value)}"
        if self.run is not None:
            self.update(self.run, completed=record["iteration"])

    def get_renderables(self) -> Iterable[RenderableType]:
        record = self.record
        if record and self.run is not None:
            self.update(self.run, description=f"loss {record['train_loss']:.3f} {self.valid}")
        yield from super().get_renderables()
        if record:
            levels = ASCII_LEVELS if self.console.options.ascii_only else LEVELS
            yield gradient_bars(record["gradient_norm"], levels)
        if self.sample:
            yield Text(" ".join(printable(self.sample).split()), overflow="fold", style="italic")


class OnDisplay(Observer):
    """Shows a run."""

    def __init__(self, display: Display) -> None:
        self.display = display

    def begin(self, training: Training) -> None:
        self.display.follow(training.config.iterations)

    def log(self, record: Record) -> None:
        self.display.show(record)


def gradient_bars(norms: Mapping[str, float], levels: str = LEVELS) -> Text:
    """A character for every layer, in red where its gradient has vanished beside the largest."""
    least, largest = min(norms.values()), max(norms.values())
    text = Text(f"gradients {least:.0e} … {largest:.0e}, input first, a step is a factor of ten: ", overflow="fold")
    for vanished, some in groupby(norms.values(), lambda norm: norm < DEAD * largest):
        text.append("".join(levels[_level(norm, largest)] for norm in some), "red" if vanished else "green")
    return text


def _level(norm: float, largest: float) -> int:
    return max(1, 8 - floor(log10(largest) - log10(norm))) if norm > 0 else 0
