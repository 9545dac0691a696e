"""A scikit-learn classifier on our network."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import softmax

from minisig.backends import Array
from minisig.data import Dataset, Split
from minisig.data.scaling import Scaling
from minisig.experiments import configure
from minisig.models import build_network
from minisig.training.config import Config
from minisig.training.loop import Training, make_optimizer

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import train_test_split
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(f"SigmoidClassifier needs scikit-learn: pip install 'minisig[sklearn]' ({error})") from None


class SigmoidClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A deep network of logistic sigmoids under a softmax, trained on X (N, n) and any labels y (N,).

    Inputs are scaled as `minisig train --data` does it: taken as they are if all of them lie in [−1, 1], else every
    column is mapped from its smallest and largest training value to [−1, 1]. From what comes of it the EP
    initializations take the inputs' means and variances. The first partial_fit decides both for those that follow.
    It computes in float32 if X is that, else in float64.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, or int
        Sigmoids in each hidden layer, input first.
    init : str
        A name in `minisig.INITIALIZERS`: "random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun", …
    optimizer : str
        A name in `minisig.OPTIMIZERS`: "momentum", "sgd", "adam", "adamw", "rmsprop", …
    learning_rate : float
    batch_size : int
        Examples in an update; the whole data if there are fewer.
    max_iter : int
        Passes over the data, with early stopping at most.
    dropout : float
        Share of hidden activations that are silenced while training.
    early_stopping : bool
        Hold out `validation_fraction` of the data, end after `n_iter_no_change` passes in which the loss on them did
        not fall, and keep the weights with which it was least.
    validation_fraction : float
    n_iter_no_change : int
    random_state : int, RandomState instance or None

    Attributes
    ----------
    classes_ : (C,) labels, sorted
    network_ : minisig.Network, to be traced and inspected; its inputs are scaled, see `scale`
    n_iter_ : passes made
    loss_curve_ : list of float, the mean training loss of each pass
    gradient_norms_ : {"dense0": list of float, …}, the mean norm of each layer's gradient in each pass
    validation_losses_ : list of float, with early stopping the loss on the held out data after each pass

    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = np.where(x[:, 0] * x[:, 1] > 0, "same", "different")
    >>> classifier = SigmoidClassifier((10, 10), max_iter=60, learning_rate=0.1, random_state=0).fit(x, y)
    >>> classifier.score(x, y) > 0.9
    True
    >>> classifier.predict_proba(x).shape
    (200, 2)
    >>> list(classifier.gradient_norms_)
    ['dense0', 'dense1', 'dense2']
    """

    def __init__(
        self,
        hidden_layer_sizes: Any = (100, 100),
        *,
        init: str = "random+ep",
        optimizer: str = "momentum",
        learning_rate: float = 0.01,
        batch_size: int = 50,
        max_iter: int = 100,
        dropout: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.init = init
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "SigmoidClassifier":
        """Train on X (N, n) and labels y (N,), from the start."""
        for name in ("max_iter", "n_iter_no_change") if self.early_stopping else ("max_iter",):
            passes = getattr(self, name)
            if not isinstance(passes, Integral) or passes < 1:
                raise ValueError(f"{name}: expected a whole number of passes, at least 1; got {passes!r}")
        share = self.validation_fraction
        if self.early_stopping and not (isinstance(share, Real) and 0 < share < 1):
            raise ValueError(f"validation_fraction: expected a share of the data between 0 and 1; got {share!r}")
        X, y = self._validated(X, y, first=True)
        self._begin(X, y)
        X = self.scale(X)
        if not self.early_stopping:
            return self._train(Split(X, self._numbers(y)), None, self.max_iter)
        held_out = {"test_size": self.validation_fraction, "random_state": self._random, "stratify": y}
        X, X_valid, y, y_valid = train_test_split(X, y, **held_out)
        return self._train(Split(X, self._numbers(y)), Split(X_valid, self._numbers(y_valid)), self.max_iter)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "SigmoidClassifier":
        """One more pass over X (N, n) and y (N,); the first call needs `classes`, all labels there will be."""
        first = not hasattr(self, "network_")
        if first and classes is None:
            raise ValueError("classes: the first call of partial_fit needs all labels there will be, got None")
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes: expected those of the first call, {self.classes_}; got {np.unique(classes)}")
        X, y = self._validated(X, y, first=first)
        if first:
            self._begin(X, classes)
        return self._train(Split(self.scale(X), self._numbers(y)), None, 1)

    def predict_proba(self, X: Any) -> Array:
        """(N, C): the probability of every class, in the order of `classes_`, for X (N, n)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return softmax(self.network_.forward(self.scale(X)), axis=1)

    def predict(self, X: Any) -> Array:
        """(N,): the most probable label of every row of X (N, n)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def scale(self, X: Any) -> Array:
        """X (N, n) as the network takes it."""
        check_is_fitted(self, "_scaling")
        return X if self._scaling is None else self._scaling(X).astype(X.dtype)

    def _validated(self, X: Any, y: Any, *, first: bool) -> tuple[Array, Array]:
        least = 2 if first else 1  # of one example there are no statistics
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=least, reset=first)
        check_classification_targets(y)
        return X, y

    def _begin(self, X: Array, labels: Any) -> None:
        self._random = check_random_state(self.random_state)
        self._scaling = Scaling.of(X)
        self.classes_ = np.unique(labels)
        config = self._config(X.dtype.name, 1, 1)
        everything = Split(self.scale(X), np.zeros(len(X), dtype=np.int64))
        self.network_ = build_network(config, self._dataset(everything, everything))
        self._optimizer = make_optimizer(config)
        self.n_iter_ = 0
        self.loss_curve_: list[float] = []
        self.gradient_norms_: dict[str, list[float]] = {}
        self.validation_losses_: list[float] = []

    def _train(self, train: Split, valid: Split | None, passes: int) -> "SigmoidClassifier":
        per_pass = max(1, len(train.x) // self.batch_size)
        # Without data held out the training data are looked at once, in the end: the last weights are the best.
        every = per_pass if valid else passes * per_pass
        config = self._config(self.network_.backend.dtype.name, passes * per_pass, every)
        training = Training(self.network_, self._dataset(train, valid or train), config, self._optimizer)
        records = []
        for record in training:
            records.append(record)
            if len(records) < per_pass:
                continue
            self._note(records)
            records = []
            if valid:
                self.validation_losses_.append(record["valid_loss"])
                if training.iteration - training.best_iteration >= self.n_iter_no_change * per_pass:
                    break
        self.network_.load(training.best)
        return self

    def _note(self, records: list[dict[str, Any]]) -> None:
        self.n_iter_ += 1
        self.loss_curve_.append(float(np.mean([record["train_loss"] for record in records])))
        for layer in records[0]["gradient_norm"]:
            norms = [record["gradient_norm"][layer] for record in records]
            self.gradient_norms_.setdefault(layer, []).append(float(np.mean(norms)))

    def _config(self, dtype: str, iterations: int, validate_every: int) -> Config:
        """Ours, checked. Clipping is that of the experiment `digits`; passes may follow, so the rate does not fall."""
        settings = {
            "network.hidden": np.atleast_1d(self.hidden_layer_sizes).tolist(),
            "network.init": self.init,
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

    def _numbers(self, y: Array) -> Array:
        numbers = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(numbers, len(self.classes_) - 1)] == y
        if not known.all():
            raise ValueError(f"y has labels that are not in classes: {np.unique(y[~known])[:5]}")
        return numbers

    def _dataset(self, train: Split, valid: Split) -> Dataset:
        return Dataset("X", train, valid, valid, len(self.classes_))
