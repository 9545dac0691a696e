"""The network that a configuration asks for."""

from collections.abc import Callable

import numpy as np

from minisig.backends import get_backend
from minisig.data import Dataset, Split
from minisig.errors import MinisigError, UsageError, require_known
from minisig.initializers import RecurrentOptions
from minisig.network import Network, mlp, recurrent
from minisig.plugins import Table
from minisig.seeds import stream
from minisig.training.config import Config, NetworkConfig

# None for our own, which build_network knows; others are made of whatever layers their authors like.
MODELS: Table[Callable[[Config, Dataset], Network] | None] = Table("models", dict.fromkeys(("mlp", "rnn", "lstm")))
# Settings of the network that one of our models alone has.
OF_ONE_MODEL = {"activation": "mlp", "ep_mode": "rnn", "radius": "rnn", "input_rms": "rnn", "forget_bias": "lstm"}


def build_network(config: Config, data: Dataset) -> Network:
    """The network of a configuration, initialized for these data."""
    wanted, rng = config.network, stream(config.seed, "weights")
    backend = get_backend(config.backend, config.dtype, config.memory)
    require_known("model", wanted.model, MODELS)
    if model := MODELS[wanted.model]:
        made = model(config, data)
        if not isinstance(made, Network):  # anybody may have written it
            raise MinisigError(f"model '{wanted.model}': expected a Network, got {type(made).__name__}")
        return made.on(backend)
    for name, owner in OF_ONE_MODEL.items():
        if wanted.model != owner and getattr(wanted, name) != getattr(NetworkConfig(hidden=()), name):
            raise UsageError(f"network.{name} is a setting of the model {owner}; leave it out for the {wanted.model}")
    vectors = isinstance(data.train, Split)
    if vectors != (wanted.model == "mlp"):
        models = "mlp" if vectors else "rnn or lstm"
        kind = "vectors" if vectors else "sequences"
        raise UsageError(f"the data of {data.name} are {kind}: the model must be {models}, got {wanted.model}")
    if wanted.model == "mlp":
        return mlp(
            [data.train.x.shape[1], *wanted.hidden, data.classes],
            init=wanted.init,
            rng=rng,
            x=data.train.x,
            activation=wanted.activation,
            dropout=wanted.dropout,
            backend=backend,
        )
    return recurrent(
        data.classes,
        wanted.hidden,
        model=wanted.model,
        init=wanted.init,
        rng=rng,
        tokens=data.train.batches(config.batch_size, config.seed).at(1).x,
        frequencies=np.bincount(data.train.tokens.reshape(-1), minlength=data.classes),
        dropout=wanted.dropout,
        options=RecurrentOptions(wanted.ep_mode, wanted.radius, wanted.input_rms, wanted.forget_bias),
        backend=backend,
    )
