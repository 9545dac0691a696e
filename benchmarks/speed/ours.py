"""minisig's step is the training loop's own."""

from dataclasses import dataclass

from threadpoolctl import ThreadpoolController

from benchmarks.speed.workloads import Case, Step
from minisig.data import Batch
from minisig.training.loop import Training


@dataclass(frozen=True)
class Ring:
    batches: list[Batch]

    def at(self, iteration: int) -> Batch:
        return self.batches[(iteration - 1) % len(self.batches)]


def step_of(case: Case) -> Step:
    training = Training(case.net, case.data, case.config)
    training.batches = Ring(case.batches)
    return Step(training.advance, lambda: dict(case.net.params))


def one_thread_step_of(case: Case) -> Step:
    return with_one_thread(step_of(case))


def with_one_thread(step: Step) -> Step:
    blas = ThreadpoolController()
    return step._replace(around=lambda: blas.limit(limits=1))
