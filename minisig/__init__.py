"""minisig: deep sigmoid networks, every backward pass written by hand, every gradient in sight.

A network is made of layers, and what it computes is traced whole:

>>> import minisig as ms, numpy as np
>>> x, labels = np.random.default_rng(0).uniform(-1, 1, (50, 64)), np.arange(50) % 10      # (B, n) and (B,)
>>> net = ms.mlp([64, 100, 100, 10], init="random+ep", rng=0, x=x)
>>> trace = net.trace(x, labels)                    # one forward and backward, everything kept
>>> sorted(trace.gradient_norms())[:2]
['dense0.W', 'dense0.b']
>>> net.forward(x).shape                            # logits (B, C)
(50, 10)
>>> ms.check_gradients(net, x, labels).error < 1e-10
True
>>> ms.vanishing_bounds(trace).verdict              # measured gradient against three bounds
'alive'
>>> [row.name for row in ms.activation_statistics(trace)]      # logit_std, entropy, saturated, …
['dense0', 'dense1']

Data are a training, a validation and a test part; the experiments are configurations, any setting by its name:

>>> data = ms.load_data("digits")
>>> config = ms.configure("digits", {"network.hidden": [30], "iterations": 500, "optimizer.schedule": "constant"})
>>> summary = ms.run(config)                        # train, select by validation loss, test once
>>> summary["test_error"] < 30
True
>>> ms.inspect_network(net, x, labels).layers[0]["shape"]
[64, 100]

Given a folder a run is kept, and brought back, or, if its learning rate does not fall to 0, taken further:

>>> from pathlib import Path; from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     summary = ms.run(config, Path(folder) / "run")
...     config, data, net = ms.restore(Path(folder) / "run")
...     more = ms.resume(Path(folder) / "run", iterations=600)
>>> more["iterations"]
600

A network of your own layers, trained step by step, each record with every layer's gradient norm:

>>> backend = ms.get_backend("numpy", "float32")
>>> [(W, b)], account = ms.initialize(
...     "random+ep", [64, 10], np.random.default_rng(0), ms.Inputs.measured(data.train.x), ms.Sigmoid())
>>> dense: ms.Layer = ms.Dense(backend.asarray(W), backend.asarray(b))
>>> own = ms.Network([("dropout", ms.Dropout(0.1)), ("dense", dense)], backend)
>>> records = list(ms.Training(own, data, config))
>>> list(records[0]["gradient_norm"])
['dense']
>>> ms.evaluate(own, data.valid).error < 30         # percent
True

Recurrent networks take tokens (T, B) and give logits (T, B, C):

>>> rnn = ms.recurrent(10, [20], init="ortho+ep", options=ms.RecurrentOptions(radius=4.5))
>>> lstm = ms.recurrent(10, [20], model="lstm", init="glorot")
>>> [type(layer) for layer in rnn.layers.values()] == [ms.Embedding, ms.RNN, ms.Dense]
True
>>> [type(layer) for layer in lstm.layers.values()] == [ms.Embedding, ms.LSTM, ms.Dense]
True
>>> rnn.forward(np.zeros((7, 3), dtype=int)).shape
(7, 3, 10)

A weight's gradient stays factored, dW = xᵀ dz; `Rows` is that of an embedding, `RowSum` that of a bias, and `Evaluated`
one that is an array already:

>>> ms.Outer(np.ones((5, 3)), np.ones((5, 2))).dense(backend).shape
(3, 2)
>>> ms.RowSum(np.ones((5, 2))).dense(backend)
array([5., 5.])
>>> ms.Rows(np.array([0, 2, 2]), np.ones((3, 1)), 4).dense(backend).ravel()
array([1., 0., 2., 0.])
>>> float(ms.Evaluated(np.array([[3.0, 4.0]])).norm(backend))
5.0

Four tables of names are open to everybody: INITIALIZERS, EXPERIMENTS, MODELS and SOURCES (of data); see plugins.py.

>>> def constant(sizes, rngs, inputs, activation):
...     return [(np.ones((n, m)), np.zeros(m)) for n, m in zip(sizes, sizes[1:])], ms.Target()
>>> ms.INITIALIZERS["constant"] = constant
>>> float(ms.mlp([3, 2], init="constant").params["dense0.W"].sum())
6.0
>>> del ms.INITIALIZERS["constant"]
>>> def coin(config, seed):                         # x (N, n) in about [−1, 1] and labels 0 … classes − 1
...     part = ms.Split(np.array([[-1.0], [1.0]]), np.array([0, 1]))
...     return ms.Dataset("coin", train=part, valid=part, test=part, classes=2)
>>> ms.SOURCES["coin"] = coin
>>> ms.MODELS["scaled"] = lambda config, data: ms.mlp(
...     [1, *config.network.hidden, 2], x=data.train.x, activation="scaled-tanh")
>>> ms.EXPERIMENTS["coin"] = ms.Experiment(ms.Config(
...     experiment="coin", data=ms.DataConfig(source="coin"), network=ms.NetworkConfig(model="scaled", hidden=(3,)),
...     optimizer=ms.OptimizerConfig(learning_rate=0.1), batch_size=2, iterations=50))
>>> ms.run(ms.configure("coin"))["test_error"]
0.0
>>> type(ms.MODELS["scaled"](ms.configure("coin"), coin(None, 0)).layers["scaled_tanh0"]) is ms.ScaledTanh
True
>>> del ms.SOURCES["coin"], ms.MODELS["scaled"], ms.EXPERIMENTS["coin"]

What goes wrong through no fault of ours is a MinisigError:

>>> all(issubclass(kind, ms.MinisigError) for kind in (ms.UsageError, ms.DataError, ms.Diverged))
True
>>> try:
...     ms.mlp([3, 2], init="lecum")
... except ms.UsageError as error:
...     print(str(error)[:50])
unknown init 'lecum'. Did you mean 'lecun'? Choose
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from minisig.backends import get_backend
    from minisig.data import SOURCES, DataConfig, Dataset, Split
    from minisig.data import load as load_data
    from minisig.diagnostics.activations import activation_statistics
    from minisig.diagnostics.bounds import vanishing_bounds
    from minisig.diagnostics.gradient_check import check_gradients
    from minisig.diagnostics.inspection import inspect_network
    from minisig.errors import DataError, Diverged, MinisigError, UsageError
    from minisig.experiments import EXPERIMENTS, Experiment, configure
    from minisig.gradients import Evaluated, Outer, Rows, RowSum
    from minisig.initializers import INITIALIZERS, Inputs, RecurrentOptions, Target, initialize
    from minisig.layers import LSTM, RNN, Dense, Dropout, Embedding, Layer, ScaledTanh, Sigmoid
    from minisig.network import Network, mlp, recurrent
    from minisig.training.build import MODELS
    from minisig.training.config import Config, NetworkConfig, OptimizerConfig
    from minisig.training.evaluate import evaluate
    from minisig.training.loop import Training
    from minisig.training.observers import Observer
    from minisig.training.restore import restore
    from minisig.training.run import resume, run

# Where each public name lives. It is imported when first used: `import minisig` alone costs nothing.
_HOME = {
    "Config": "training.config",
    "DataConfig": "data",
    "DataError": "errors",
    "Dataset": "data",
    "Dense": "layers",
    "Diverged": "errors",
    "Dropout": "layers",
    "EXPERIMENTS": "experiments",
    "Embedding": "layers",
    "Evaluated": "gradients",
    "Experiment": "experiments",
    "INITIALIZERS": "initializers",
    "Inputs": "initializers",
    "LSTM": "layers",
    "Layer": "layers",
    "MODELS": "training.build",
    "MinisigError": "errors",
    "Network": "network",
    "NetworkConfig": "training.config",
    "Observer": "training.observers",
    "OptimizerConfig": "training.config",
    "Outer": "gradients",
    "RNN": "layers",
    "RecurrentOptions": "initializers",
    "RowSum": "gradients",
    "Rows": "gradients",
    "SOURCES": "data",
    "ScaledTanh": "layers",
    "Sigmoid": "layers",
    "Split": "data",
    "Target": "initializers",
    "Training": "training.loop",
    "UsageError": "errors",
    "activation_statistics": "diagnostics.activations",
    "check_gradients": "diagnostics.gradient_check",
    "configure": "experiments",
    "evaluate": "training.evaluate",
    "get_backend": "backends",
    "initialize": "initializers",
    "inspect_network": "diagnostics.inspection",
    "load_data": "data:load",
    "mlp": "network",
    "recurrent": "network",
    "restore": "training.restore",
    "resume": "training.run",
    "run": "training.run",
    "vanishing_bounds": "diagnostics.bounds",
}

__all__ = [
    "EXPERIMENTS",
    "INITIALIZERS",
    "LSTM",
    "MODELS",
    "RNN",
    "SOURCES",
    "Config",
    "DataConfig",
    "DataError",
    "Dataset",
    "Dense",
    "Diverged",
    "Dropout",
    "Embedding",
    "Evaluated",
    "Experiment",
    "Inputs",
    "Layer",
    "MinisigError",
    "Network",
    "NetworkConfig",
    "Observer",
    "OptimizerConfig",
    "Outer",
    "RecurrentOptions",
    "RowSum",
    "Rows",
    "ScaledTanh",
    "Sigmoid",
    "Split",
    "Target",
    "Training",
    "UsageError",
    "activation_statistics",
    "check_gradients",
    "configure",
    "evaluate",
    "get_backend",
    "initialize",
    "inspect_network",
    "load_data",
    "mlp",
    "recurrent",
    "restore",
    "resume",
    "run",
    "vanishing_bounds",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'minisig' has no attribute '{name}'")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(f"minisig.{module}"), attribute or name)


def __dir__() -> list[str]:
    return __all__
