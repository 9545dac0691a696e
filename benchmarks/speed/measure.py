"""Peers in turn, in short slices, so that what the machine does beside falls on all of them alike.

A round gives every peer one slice of steps; the ratio of two peers is taken within a round, and of all rounds' ratios
the median is reported with the range of the middle eight tenths.

The threads of a pool wait for more work in a loop, for up to a fifth of a second, and take a core from whoever comes
next. So with several threads there is a rest before every slice, and a step that is not counted wakes the peer's own.
"""

from collections.abc import Callable, Mapping
from statistics import median, quantiles
from time import sleep
from typing import NamedTuple

from benchmarks.speed.workloads import Step

Clock = Callable[[], float]
MAX_STEPS = 10_000  # steps of a slice, should a clock be too coarse for the first ones
WARM_UP = 3  # steps, in which things are compiled and memory is laid out
REST = 0.3  # seconds


class Spread(NamedTuple):
    median: float
    low: float  # nine of ten are above
    high: float  # nine of ten are below


def spread(values: list[float]) -> Spread:
    tenths = quantiles(values, n=10, method="inclusive")
    return Spread(median(values), tenths[0], tenths[-1])


def ratios(times: list[float], ours: list[float]) -> Spread:
    """How many times longer than ours, round by round."""
    return spread([theirs / own for theirs, own in zip(times, ours, strict=True)])


def interleaved(
    steps: Mapping[str, Step], clock: Clock, rounds: int, seconds: float, rest: float = 0.0
) -> dict[str, list[float]]:
    """Time of a step, by peer and round. A slice takes about so many seconds, one step at least."""
    counts = {}
    for name, step in steps.items():
        timed(step, clock, WARM_UP)
        counts[name] = max(1, min(MAX_STEPS, round(seconds / max(timed(step, clock, WARM_UP), 1e-9))))
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            if rest:
                sleep(rest)
                timed(step, clock, 1)
            times[name].append(timed(step, clock, counts[name]))
    return times


def timed(step: Step, clock: Clock, count: int) -> float:
    """Mean time of so many steps."""
    with step.around():
        started = clock()
        for _ in range(count):
            step.run()
        step.wait()
        return (clock() - started) / count
