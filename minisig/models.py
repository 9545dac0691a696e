"""Models: the networks that a configuration asks for by name, initialized for their data.

A model is a function (config, data) -> Network. What can be set about it is its class `Settings`, whose settings are
attributes of config.network; `takes` says what data it is for, "vectors" or "sequences". Every cell of layers.CELLS is
a model: tokens → embedding → recurrent layers → logits.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from minisig import network, settings
from minisig.activations import ACTIVATIONS
from minisig.backends import get_backend
from minisig.data import Dataset, Split
from minisig.errors import MinisigError, UsageError
from minisig.initializers import INITIALIZERS, starts
from minisig.layers import CELLS
from minisig.losses import LOSSES, SoftmaxCrossEntropy
from minisig.network import Network
from minisig.plugins import Table
from minisig.seeds import stream
from minisig.settings import Part, Parts, brought

Model = Callable[[Any, Dataset], Network]


class MLP:
    """Dense layers with an activation between them."""

    takes = "vectors"

    class Settings(settings.Settings, frozen=True):
        parts: ClassVar[Parts] = {"activation": Part(ACTIVATIONS), "init": Part(INITIALIZERS, suits=callable)}

        activation: str = "sigmoid"

    def __call__(self, config: Any, data: Dataset) -> Network:
        wanted = config.network
        activation = ACTIVATIONS[wanted.activation]
        return network.mlp(
            [data.train.x.shape[1], *wanted.hidden, data.classes],
            init=wanted.init,
            rng=stream(config.seed, "weights"),
            x=data.train.x,
            activation=activation(**brought(activation, wanted)),
            dropout=wanted.dropout,
            backend=get_backend(config.backend, config.dtype, config.memory),
            **brought(INITIALIZERS[wanted.init], wanted),
        )


class Recurrent:
    """Tokens → embedding → recurrent layers of one kind of cell → logits."""

    takes = "sequences"

    def __init__(self, name: str) -> None:
        self.name, self.cell = name, CELLS[name]
        own = getattr(self.cell, "Settings", settings.Settings)

        class Settings(own, frozen=True):  # type: ignore
            parts: ClassVar[Parts] = {
                **own.parts,
                "init": Part(INITIALIZERS, "CellSettings", lambda row: starts(row, self.cell)),
            }

        self.Settings = Settings

    def __call__(self, config: Any, data: Dataset) -> Network:
        wanted = config.network
        return network.recurrent(
            data.classes,
            wanted.hidden,
            model=self.name,
            init=wanted.init,
            rng=stream(config.seed, "weights"),
            tokens=data.train.batches(config.batch_size, config.seed).at(1).x,
            frequencies=np.bincount(data.train.tokens.reshape(-1), minlength=data.classes),
            dropout=wanted.dropout,
            backend=get_backend(config.backend, config.dtype, config.memory),
            **brought(self.cell, wanted),
            **brought(INITIALIZERS[wanted.init], wanted, "CellSettings"),
        )


class Models(Table[Model]):
    """The table of models, with one for every cell."""

    def __contains__(self, name: object) -> bool:
        return name in CELLS or super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*super().__iter__(), *CELLS]))

    def __getitem__(self, name: str) -> Model:
        if name not in self.rows and name in CELLS:
            self.rows[name] = Recurrent(name)
        return super().__getitem__(name)


MODELS = Models("models", {"mlp": MLP(), **{name: Recurrent(name) for name in CELLS.rows}})


def build_network(config: Any, data: Dataset) -> Network:
    """The network of a configuration, initialized for these data, under the loss that it or they ask for."""
    wanted, model = config.network, MODELS[config.network.model]
    kind = "vectors" if isinstance(data.train, Split) else "sequences"
    if getattr(model, "takes", kind) != kind:
        others = " or ".join(name for name, row in MODELS.items() if getattr(row, "takes", None) == kind)
        raise UsageError(f"the data of {data.name} are {kind}: the model must be {others}, got {wanted.model}")
    made = model(config, data)
    if not isinstance(made, Network):  # anybody may have written it
        raise MinisigError(f"model '{wanted.model}': expected a Network, got {type(made).__name__}")
    if not isinstance(model, MLP | Recurrent):  # which are where they should be
        made = made.on(get_backend(config.backend, config.dtype, config.memory))
    if wanted.loss or type(made.loss) is SoftmaxCrossEntropy:  # a model of somebody's own may have its own loss
        name = wanted.loss or data.loss
        told = data.of_loss if name == data.loss else {}
        made.loss = LOSSES[name](**brought(LOSSES[name], wanted), **told)
    return made
