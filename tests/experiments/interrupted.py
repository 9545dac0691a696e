"""A run with checkpoints that is interrupted between two of them, and what it comes to in the end."""

from msgspec.json import encode

from minisig.experiments.compare import train
from minisig.experiments.results import load
from minisig.training.loop import Training

SETTINGS = {"iterations": 60, "network.hidden": [8, 8], "threads": 1, "checkpoint_every": 20, "log_every": 7}
AT = 50  # the iteration before which it is interrupted
LAST = 40  # the one of its last checkpoint then


class Steps(list):
    """The iterations that are made; before one of them an error may come, once."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.errors, real = {}, Training.step

        def step(training, iteration):
            if error := self.errors.pop(iteration, None):
                raise error
            self.append(iteration)
            return real(training, iteration)

        monkeypatch.setattr(Training, "step", step)


def outcome(job, folder):
    """What the run comes to in this folder, but for the seconds."""
    train(encode(job.config), str(folder / job.folder), job.data)
    result = load(job, folder)
    return result.summary | {"seconds": 0}, result.metrics
