"""What SigmoidClassifier and SigmoidRegressor have in common."""

from copy import deepcopy
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from minisig.activations import ACTIVATIONS
from minisig.backends import Array
from minisig.bridges.sklearn.penalty import Penalized
from minisig.data import Dataset, Split
from minisig.data.scaling import Scaling
from minisig.experiments import configure
from minisig.initializers import INITIALIZERS, Inputs
from minisig.losses import Weighted, WeightedTargets
from minisig.network import Network, mlp
from minisig.seeds import stream
from minisig.settings import brought
from minisig.training.config import Config
from minisig.training.loop import Training, make_optimizer

FLOATS = (np.float64, np.float32)


class SigmoidEstimator(BaseEstimator):  # type: ignore[misc]
    """A network that is trained; what its targets are, the two estimators say."""

    _loss: ClassVar[str]  # a name in LOSSES

    def __init__(
        self,
        hidden_layer_sizes: Any = (100, 100),
        *,
        init: str = "random+ep",
        activation: str = "sigmoid",
        optimizer: str = "momentum",
        learning_rate: float = 0.01,
        batch_size: int = 50,
        max_iter: int = 100,
        alpha: float = 0.0,
        dropout: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.init = init
        self.activation = activation
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.alpha = alpha
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _validated(self, X: Any, y: Any, *, first: bool) -> tuple[Array, Array]:
        """X and y as arrays; `first` if what they are like decides it for later calls."""
        raise NotImplementedError

    def _learn(self, y: Array, weights: Array | None) -> None:
        """Note what the targets are like: classes, or mean and standard deviation."""
        raise NotImplementedError

    def _require_same(self, y: Array) -> None:
        """Refuse targets that a warm start cannot go on with, beside those that _targets refuses."""

    def _targets(self, y: Array) -> Array:
        """y as the loss takes it; refused if the network has no outputs for it."""
        raise NotImplementedError

    def _outputs(self) -> int:
        raise NotImplementedError

    def _strata(self, y: Array) -> Array | None:
        """Labels of which the held out data shall have the same shares."""
        return None

    def scale(self, X: Any) -> Array:
        """X (N, n) as the network takes it."""
        check_is_fitted(self, "_scaling")
        return X if self._scaling is None else self._scaling(X).astype(X.dtype)

    def _forward(self, X: Any) -> Array:
        """The network's outputs (N, C) for X (N, n)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return self.network_.forward(self.scale(X))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        for name in ("max_iter", "n_iter_no_change") if self.early_stopping else ("max_iter",):
            passes = getattr(self, name)
            if not isinstance(passes, Integral) or passes < 1:
                raise ValueError(f"{name}: expected a whole number of passes, at least 1; got {passes!r}")
        share = self.validation_fraction
        if self.early_stopping and not (isinstance(share, Real) and 0 < share < 1):
            raise ValueError(f"validation_fraction: expected a share of the data between 0 and 1; got {share!r}")
        first = not (self.warm_start and hasattr(self, "network_"))
        X, y = self._validated(X, y, first=first)
        weights = _weights(sample_weight, X)
        if first:
            self._learn(y, weights)
        else:
            self._require_same(y)
        X, y, weights = _counting(X, y, weights)
        if first:
            self._begin(X, weights)
            random = self._random
        else:
            self._go_on()
            random = deepcopy(self._at_first)  # the same rows of the same data are held out: none was trained on
        if not self.early_stopping:
            self._train(self._part(X, y, weights), None, self.max_iter)
            return
        arrays = (X, y) if weights is None else (X, y, weights)
        held_out = {"test_size": self.validation_fraction, "random_state": random, "stratify": self._strata(y)}
        parts = train_test_split(*arrays, **held_out)
        self._train(self._part(*parts[::2]), self._part(*parts[1::2]), self.max_iter)

    def _pass(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> None:
        """One pass over X and y, all classes of which are named if there are any."""
        first = not hasattr(self, "network_")
        X, y = self._validated(X, y, first=first)
        weights = _weights(sample_weight, X)
        if first:
            self._learn(y if classes is None else classes, weights)
        X, y, weights = _counting(X, y, weights)
        if first:
            self._begin(X, weights)
        self._train(self._part(X, y, weights), None, 1)

    def _begin(self, X: Array, weights: Array | None) -> None:
        self._random = check_random_state(self.random_state)
        self._scaling = Scaling.of(X)
        config = self._config(X.dtype.name, 1, 1)
        self._at_first = deepcopy(self._random)
        self.network_ = self._network(config, Inputs.measured(self.scale(X), weights))
        self._shape = self._shape_of(config)
        self._optimizer = make_optimizer(config)
        self.n_iter_ = 0
        self.loss_curve_: list[float] = []
        self.gradient_norms_: dict[str, list[float]] = {}
        self.validation_losses_: list[float] = []

    def _network(self, config: Config, inputs: Inputs) -> Network:
        wanted: Any = config.network
        activation = ACTIVATIONS[wanted.activation]
        return mlp(
            [len(inputs.mean), *wanted.hidden, self._outputs()],
            init=wanted.init,
            rng=stream(config.seed, "weights"),
            x=inputs,
            activation=activation(**brought(activation, wanted)),
            dropout=wanted.dropout,
            loss=self._loss,
            dtype=config.dtype,
            **brought(INITIALIZERS[wanted.init], wanted),
        )

    def _go_on(self) -> None:
        """Make ready for another fit of the same network, with an optimizer that remembers nothing."""
        config = self._config(self.network_.backend.dtype.name, 1, 1)
        for name, now in self._shape_of(config).items():
            if now != self._shape[name]:
                raise ValueError(
                    f"{name}: warm_start goes on with the network of the fit before, made with {self._shape[name]}; "
                    f"got {now}; to begin anew set warm_start=False"
                )
        self._optimizer = make_optimizer(config)

    def _shape_of(self, config: Config) -> dict[str, Any]:
        wanted: Any = config.network
        return {
            "hidden_layer_sizes": wanted.hidden,
            "activation": wanted.activation,
            "dropout": wanted.dropout,
        }

    def _part(self, X: Array, y: Array, weights: Array | None = None) -> Split:
        """Data to train or to validate on."""
        targets: Any = self._targets(y)
        if weights is not None:
            targets = WeightedTargets(targets, weights / weights.mean())
        return Split(self.scale(X), targets)

    def _train(self, train: Split, valid: Split | None, passes: int) -> None:
        per_pass = max(1, len(train.x) // self.batch_size)
        # Without data held out the training data are looked at once, in the end: the last weights are the best.
        every = per_pass if valid else passes * per_pass
        config = self._config(self.network_.backend.dtype.name, passes * per_pass, every)
        part = valid or train
        data = Dataset("X", train, part, part, self._outputs(), loss=self._loss)
        training = Training(self._trained(train), data, config, self._optimizer)
        records = []
        for record in training:
            records.append(record)
            if len(records) < per_pass:
                continue
            self._note(records, validated=valid is not None)
            records = []
            if valid and training.iteration - training.best_iteration >= self.n_iter_no_change * per_pass:
                break
        self.network_.load(training.best)

    def _trained(self, train: Split) -> Network:
        """The network as it is trained: what weights and the penalty ask for stays out of network_."""
        net: Network = self.network_
        if isinstance(train.y, WeightedTargets):
            net = Network(net.layers, net.backend, net.account, Weighted(net.loss))
        return Penalized(net, float(self.alpha)) if self.alpha else net

    def _note(self, records: list[dict[str, Any]], *, validated: bool) -> None:
        """Take down a pass from the records of its updates."""
        self.n_iter_ += 1
        self.loss_curve_.append(float(np.mean([record["train_loss"] for record in records])))
        for layer in records[0]["gradient_norm"]:
            norms = [record["gradient_norm"][layer] for record in records]
            self.gradient_norms_.setdefault(layer, []).append(float(np.mean(norms)))
        line = f"pass {self.n_iter_}: training loss {self.loss_curve_[-1]:.6f}"
        if validated:
            self.validation_losses_.append(records[-1]["valid_loss"])
            line += f", validation loss {self.validation_losses_[-1]:.6f}"
        if self.verbose:
            print(line)  # noqa: T201 - where scikit-learn's estimators report

    def _config(self, dtype: str, iterations: int, validate_every: int) -> Config:
        """Ours, checked. Clipping is that of the experiment `digits`; passes may follow, so the rate does not fall."""
        if not (isinstance(self.alpha, Real) and isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(f"alpha: expected a number, at least 0; got {self.alpha!r}")
        settings = {
            "network.hidden": np.atleast_1d(self.hidden_layer_sizes).tolist(),
            "network.init": self.init,
            "network.activation": self.activation,
            "network.dropout": self.dropout,
            "optimizer.name": self.optimizer,
            "optimizer.learning_rate": self.learning_rate,
            "optimizer.schedule": "constant",
            "optimizer.warmup": 0,
            "batch_size": self.batch_size,
            "iterations": iterations,
            "log_every": 1,
            "validate_every": validate_every,
            "seed": self._random.randint(2**31 - 1),
            "dtype": dtype,
        }
        return configure("digits", settings)


def _weights(sample_weight: Any, X: Array) -> Array | None:
    """Checked weights (N,) of the rows of X, one of them above 0 at least; None if there are none."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():  # scikit-learn's own word on it from 1.9 on
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def _counting(X: Array, y: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Without the rows of weight 0, which are as if they were not there."""
    if weights is None or weights.all():
        return X, y, weights
    return X[weights > 0], y[weights > 0], weights[weights > 0]
