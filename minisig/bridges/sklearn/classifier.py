"""A scikit-learn classifier on our network."""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from minisig.backends import Array
from minisig.bridges.sklearn.base import FLOATS, SigmoidEstimator


class SigmoidClassifier(ClassifierMixin, SigmoidEstimator):  # type: ignore[misc]
    """A deep network of logistic sigmoids under a softmax, trained on X (N, n) and any labels y (N,).

    Inputs are scaled as `minisig train --data` does it: taken as they are if all of them lie in [−1, 1], else every
    column is mapped from its smallest and largest training value to [−1, 1]. From what comes of it the EP
    initializations take the inputs' means and variances. The first partial_fit decides both for those that follow.
    It computes in float32 if X is that, else in float64.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, or int
        Neurons in each hidden layer, input first.
    init : str
        A name in `minisig.INITIALIZERS`: "random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun", …
    activation : str
        Of the hidden layers, a name in `minisig.ACTIVATIONS`: "sigmoid", "scaled-tanh", "tanh", "erf", "relu",
        "softplus". EP is for logistic sigmoids, scaled or not; for the last three choose an `init` that is not EP.
    optimizer : str
        A name in `minisig.OPTIMIZERS`: "momentum", "sgd", "adam", "adamw", "rmsprop", …
    learning_rate : float
    batch_size : int
        Examples in an update; the whole data if there are fewer.
    max_iter : int
        Passes over the data, with early stopping at most.
    alpha : float
        Strength of an L2 penalty, that of scikit-learn's MLPs: `alpha` / 2 times the sum of the squared weights,
        without the biases, divided by the examples in the batch, is added to the training loss.
    dropout : float
        Share of hidden activations that are silenced while training.
    early_stopping : bool
        Hold out `validation_fraction` of the data, end after `n_iter_no_change` passes in which the loss on them did
        not fall, and keep the weights with which it was least.
    validation_fraction : float
    n_iter_no_change : int
    warm_start : bool
        Let `fit` go on from the weights of the fit before, with its scaling, where it would else begin anew. The
        optimizer begins anew; `n_iter_` and the lists of what each pass gave go on.
    verbose : bool
        Print a line for each pass: its number, the training loss, and with early stopping the validation loss.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    classes_ : (C,) labels, sorted
    network_ : minisig.Network, to be traced and inspected; its inputs are scaled, see `scale`
    n_iter_ : passes made
    loss_curve_ : list of float, the mean training loss of each pass
    gradient_norms_ : {"dense0": list of float, …}, the mean norm of each layer's gradient in each pass
    validation_losses_ : list of float, with early stopping the loss on the held out data after each pass

    Training loss and gradients are those that the updates are made from, with the penalty.

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

    _loss = "softmax-cross-entropy"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SigmoidClassifier":
        """Train on X (N, n) and labels y (N,), from the start unless `warm_start` is set.

        sample_weight (N,): the loss of each example and its gradient are multiplied with its weight, and the means and
        variances that EP starts from count it as often. Only the weights' proportions matter; examples of weight 0 are
        as if they were not there, but for their classes.
        """
        self._fit(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "SigmoidClassifier":
        """One more pass over X (N, n) and y (N,); the first call needs `classes`, all labels there will be.

        sample_weight (N,) is as in fit; its proportions are those within this call.
        """
        first = not hasattr(self, "network_")
        if first and classes is None:
            raise ValueError("classes: the first call of partial_fit needs all labels there will be, got None")
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes: expected those of the first call, {self.classes_}; got {np.unique(classes)}")
        self._pass(X, y, sample_weight, classes)
        return self

    def predict_proba(self, X: Any) -> Array:
        """(N, C): the probability of every class, in the order of `classes_`, for X (N, n)."""
        return softmax(self._forward(X), axis=1)

    def predict(self, X: Any) -> Array:
        """(N,): the most probable label of every row of X (N, n)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def _validated(self, X: Any, y: Any, *, first: bool) -> tuple[Array, Array]:
        least = 2 if first else 1  # of one example there are no statistics
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=least, reset=first)
        check_classification_targets(y)
        return X, y

    def _learn(self, y: Array, weights: Array | None) -> None:
        self.classes_ = np.unique(y)

    def _require_same(self, y: Array) -> None:
        if not np.array_equal(np.unique(y), self.classes_):
            raise ValueError(
                f"y: warm_start goes on with the classes of the fit before, {self.classes_}; got {np.unique(y)}; to "
                f"begin anew set warm_start=False"
            )

    def _targets(self, y: Array) -> Array:
        """The numbers of the labels."""
        numbers = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(numbers, len(self.classes_) - 1)] == y
        if not known.all():
            raise ValueError(f"y has labels that are not in classes: {np.unique(y[~known])[:5]}")
        return numbers

    def _outputs(self) -> int:
        return len(self.classes_)

    def _strata(self, y: Array) -> Array:
        return y
