"""A TensorBoard log beside metrics.jsonl, in the folder `tensorboard` of the run.

    scalars         every number of every record, at its iteration: train_loss, gradient_norm/dense0, …
    histograms      at the start and at every validation: parameter/dense0.W, gradient/dense0.W, logit/dense0

Gradients and logits are those of that iteration's training batch, in a pass of their own: undistorted, without dropout,
from fresh states. So nothing that is logged changes a number of the training.

>>> import minisig as ms
>>> config = ms.configure("xor", {"iterations": 20})
>>> from pathlib import Path; from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     summary = ms.run(config, Path(folder) / "run", observers=[TensorBoard(Path(folder) / "run")])
...     len(list(Path(folder).glob("run/tensorboard/events.*")))
1
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minisig.errors import MinisigError, writing
from minisig.jsonable import jsonable
from minisig.training.folder import RunFolder
from minisig.training.loop import Training
from minisig.training.observers import Observer
from minisig.training.records import Record

NAME = "tensorboard"


class TensorBoard(Observer):
    """Keeps a TensorBoard log in the folder of the run it observes; a resumed run goes on in it."""

    def __init__(self, folder: RunFolder | Path | str) -> None:
        self.folder = RunFolder.at(folder)
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MinisigError("a TensorBoard log needs tensorboardX: pip install 'minisig[tensorboard]'") from None
        self.open: Any = SummaryWriter
        self.writer: Any = None

    def begin(self, training: Training) -> None:
        iteration = training.iteration
        path = self.folder.path
        with writing(path):
            self.writer = self.open(
                str(path / NAME),
                purge_step=iteration + 1 if iteration else 0,  # what came after the checkpoint is made again
                filename_suffix=f".{iteration:010}",  # two files of the same second, and in their order
            )
        self.training = training
        self.batches = training.data.train.batches(training.config.batch_size, training.config.seed)
        if iteration == 0:
            self._histograms(iteration)

    def log(self, record: Record) -> None:
        iteration = record["iteration"]
        for tag, value in _numbers(jsonable(record)):
            self.writer.add_scalar(tag, value, iteration)
        if "sample" in record:
            self.writer.add_text("sample", record["sample"], iteration)
        if "valid_loss" in record:
            self._histograms(iteration)

    def save(self, training: Training) -> None:
        self.writer.flush()

    def close(self) -> None:
        if self.writer:
            self.writer.close()

    def _histograms(self, iteration: int) -> None:
        net = self.training.net
        batch = self.batches.at(max(iteration, 1))
        trace = net.trace(batch.x, batch.labels)
        arrays = {f"parameter/{name}": w for name, w in net.params.items()}
        arrays |= {f"gradient/{name}": g.dense(net.backend) for name, g in trace.gradients.items()}
        arrays |= {f"logit/{name}": z for name, z in trace.logits().items()}
        for tag, values in arrays.items():
            host = net.backend.to_host(values)
            if np.isfinite(host).all():  # there is no histogram of anything else
                self.writer.add_histogram(tag, host, iteration)


def _numbers(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Every number of a record and its tag: those of a layer are "what/layer"."""
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}/{layer}", number) for layer, number in value.items() if number is not None)
        elif isinstance(value, list):  # statistics, a row a layer
            for row in value:
                yield from ((f"{k}/{row['name']}", v) for k, v in row.items() if isinstance(v, float))
        elif isinstance(value, int | float) and key != "iteration":
            yield key, value
