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

A run's model is its file best.safetensors alone, which knows how its inputs are made; it answers rows in raw units. A
table of your own is an experiment by its path, `ms.configure("iris.csv")`:

>>> with TemporaryDirectory() as folder:
...     summary = ms.run(config, Path(folder) / "run")
...     model: ms.Model = ms.load(Path(folder) / "run" / "best.safetensors")
>>> pixels = (data.test.x + 1) * 8                  # from 0 to 16, as in the file
>>> int((model.predict(pixels) != data.test.y).sum()) == round(summary["test_error"] / 100 * len(pixels))
True

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

Hidden layers are of sigmoids, or of any other activation, of which every diagnostic knows the derivative:

>>> relus = ms.mlp([64, 50, 50, 10], init="lsuv", activation="relu", x=x)
>>> ms.vanishing_bounds(relus.trace(x, labels)).verdict
'alive'
>>> [type(ms.ACTIVATIONS[name]()) for name in ("tanh", "relu", "softplus", "erf")] == [
...     ms.Tanh, ms.ReLU, ms.Softplus, ms.Erf]
True
>>> float(ms.Tanh().derivative(np.array(0.0)))
1.0

Recurrent networks take tokens (T, B) and give logits (T, B, C):

>>> rnn = ms.recurrent(10, [20], init="ortho+ep", radius=4.5)
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

What is minimized is a loss, which brings its metrics; by what rule is an optimizer, at what rate a schedule:

>>> numbers = ms.mlp([64, 20, 1], x=x, loss=ms.MeanSquaredError())
>>> list(ms.MeanSquaredError().score(ms.MeanSquaredError().tally(numbers.forward(x), x[:, 0], numbers.backend)))
['loss', 'rmse', 'mae', 'r2']
>>> [ms.LOSSES[name] for name in ("softmax-cross-entropy", "sigmoid-cross-entropy")] == [
...     ms.SoftmaxCrossEntropy, ms.SigmoidCrossEntropy]
True
>>> list(ms.OPTIMIZERS.values()) == [ms.Momentum, ms.SGD, ms.Adam, ms.AdamW, ms.RMSprop]
True
>>> ms.Training(own, data, config, optimizer=ms.AdamW(weight_decay=0.1)).advance()["iteration"]
1
>>> ms.configure("digits", {"optimizer.schedule": "plateau", "optimizer.patience": 5}).optimizer.patience
5
>>> isinstance(ms.evaluate(own, data.test), ms.Score)      # metrics by name
True

Every kind of part is a table of names that is open to everybody, in a program or by entry point (see plugins.py):
ACTIVATIONS, BACKENDS, CELLS, EXPERIMENTS, INITIALIZERS, LOSSES, MODELS, OPTIMIZERS, SCHEDULES and SOURCES (of data). A
part says what can be set about it by a class `Settings`, and that reaches `configure` and `--set`:

>>> class Sign(ms.Optimizer):                       # w ← w − η · size · sign(g)
...     needs_matrices = True
...
...     class Settings(ms.Settings):
...         size: float = 1.0
...
...     def __init__(self, size):
...         super().__init__()
...         self.size = size
...
...     def apply(self, w, g, slots, numbers, backend):
...         w += numbers * self.size * backend.xp.sign(g.dense(backend))
>>> ms.OPTIMIZERS["sign"] = Sign
>>> ms.run(ms.configure("xor", {"optimizer.name": "sign", "optimizer.size": 0.1}))["test_error"] < 50
True
>>> class Triangle(ms.Schedule):                    # up and down again
...     knows_the_end = True
...
...     def factor(self, iteration, iterations):
...         return 1 - abs(2 * iteration / iterations - 1)
>>> ms.SCHEDULES["triangle"] = Triangle
>>> ms.run(ms.configure("xor", {"optimizer.schedule": "triangle", "iterations": 20}))["iterations"]
20
>>> class Absolute(ms.Loss):                        # |z − t|, one number for each prediction
...     def checked(self, z, targets, backend):
...         return backend.asarray(targets).reshape(z.shape)
...
...     def rows(self, z, targets, backend):
...         d = z - targets
...         return abs(d).sum(axis=1), backend.xp.sign(d) / len(d)
>>> ms.LOSSES["absolute"] = Absolute
>>> type(ms.mlp([64, 5, 1], loss="absolute").loss) is Absolute
True
>>> class Plain(ms.Backend):                        # every primitive in plain array operations
...     xp = np
>>> ms.BACKENDS["plain"] = Plain
>>> ms.run(ms.configure("xor", {"backend": "plain", "iterations": 5}))["backend"]
'plain'
>>> issubclass(ms.GRU, ms.Recurrent) and list(ms.CELLS) == ["rnn", "lstm", "gru"]
True
>>> del ms.OPTIMIZERS["sign"], ms.SCHEDULES["triangle"], ms.LOSSES["absolute"], ms.BACKENDS["plain"]

>>> def constant(sizes, rngs, inputs, activation):
...     return [(np.ones((n, m)), np.zeros(m)) for n, m in zip(sizes, sizes[1:])], ms.Target()
>>> ms.INITIALIZERS["constant"] = constant
>>> float(ms.mlp([3, 2], init="constant").params["dense0.W"].sum())
6.0
>>> constant.cell = lambda cell, inputs, H, rngs: ms.Started(      # for recurrent networks, too
...     {"Wx": np.ones((len(inputs.mean), cell.gates * H)), "Wh": np.eye(H, cell.gates * H)})
>>> ms.recurrent(5, [4], model="gru", init="constant").params["gru0.Wh"].shape
(4, 12)
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

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"


@cache
def _public() -> dict[str, tuple[str, str]]:
    """The public names, each with its module and its name there: the lines `from … import … as …` of __init__.pyi."""
    import re

    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        name.lstrip("_"): (home, own)
        for home, own, name in re.findall(r"^from (\S+) import (\w+) as (\w+)$", stub, re.M)
    }


def __getattr__(name: str) -> Any:
    """A public name is imported when it is first used: `import minisig` alone costs nothing."""
    if name == "__all__":
        return sorted(_public())
    if name.startswith("__") or name not in _public():
        raise AttributeError(f"module 'minisig' has no attribute '{name}'")
    home, own = _public()[name]
    return getattr(import_module(home), own)


def __dir__() -> list[str]:
    return sorted(_public())
