"""A scikit-learn regressor on our network."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from minisig.backends import Array
from minisig.bridges.sklearn.base import FLOATS, SigmoidEstimator


class SigmoidRegressor(RegressorMixin, SigmoidEstimator):  # type: ignore[misc]
    """A deep network of logistic sigmoids under the mean squared error, trained on X (N, n) and y (N,) or (N, C).

    Targets are brought to mean 0 and standard deviation 1, column by column, and predictions back to their units: the
    losses are those of the former. Inputs are scaled as `minisig train --data` does it: taken as they are if all of
    them lie in [−1, 1], else every column is mapped from its smallest and largest training value to [−1, 1]. From what
    comes of it the EP initializations take the inputs' means and variances. The first partial_fit decides all of this
    for those that follow. It computes in float32 if X is that, else in float64.

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
    target_mean_, target_std_ : (C,) what targets are standardised with; of a constant the latter is 1
    network_ : minisig.Network, to be traced and inspected; its inputs are scaled, see `scale`, and its outputs
        standardised
    n_iter_ : passes made
    loss_curve_ : list of float, the mean training loss of each pass
    gradient_norms_ : {"dense0": list of float, …}, the mean norm of each layer's gradient in each pass
    validation_losses_ : list of float, with early stopping the loss on the held out data after each pass

    Training loss and gradients are those that the updates are made from, with the penalty.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = 1000 + 50 * x[:, 0] * x[:, 1]
    >>> regressor = SigmoidRegressor((10, 10), max_iter=60, learning_rate=0.1, random_state=0).fit(x, y)
    >>> regressor.score(x, y) > 0.9
    True
    >>> regressor.predict(x[:3]).shape, regressor.fit(x, np.column_stack([y, -y])).predict(x[:3]).shape
    ((3,), (3, 2))
    """

    _loss = "mean-squared-error"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SigmoidRegressor":
        """Train on X (N, n) and targets y (N,) or (N, C), from the start unless `warm_start` is set.

        sample_weight (N,): the loss of each example and its gradient are multiplied with its weight, and means and
        variances, those that EP starts from and the targets', count it as often. Only the weights' proportions matter;
        examples of weight 0 are as if they were not there.
        """
        self._fit(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SigmoidRegressor":
        """One more pass over X (N, n) and y (N,) or (N, C); what the targets are like, the first call decides.

        sample_weight (N,) is as in fit; its proportions are those within this call.
        """
        self._pass(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Array:
        """(N,) or (N, C), as the targets were: what is predicted for every row of X (N, n)."""
        y = self._forward(X) * self.target_std_ + self.target_mean_
        return y.reshape(-1, *self._columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _validated(self, X: Any, y: Any, *, first: bool) -> tuple[Array, Array]:
        least = 2 if first else 1  # of one example there are no statistics
        checks = {"dtype": FLOATS, "ensure_min_samples": least, "multi_output": True}
        X, y = validate_data(self, X, y, reset=first, **checks)
        return X, y.astype(np.float64, copy=False)

    def _learn(self, y: Array, weights: Array | None) -> None:
        if weights is not None:
            y, weights = y[weights > 0], weights[weights > 0]
        self._columns, y = y.shape[1:], y.reshape(len(y), -1)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused below
            mean, spread = np.average(y, axis=0, weights=weights), np.ptp(y, axis=0)
            unit = np.where(spread > 0, spread, 1.0)  # in which squares neither overflow nor vanish
            std = unit * np.sqrt(np.average(((y - mean) / unit) ** 2, axis=0, weights=weights))
        if not np.isfinite(std).all():
            raise ValueError("y: the numbers are too large for a mean and a standard deviation: divide them")
        self.target_mean_, self.target_std_ = mean, np.where(spread > 0, std, 1.0)  # of a constant 0.1 std may be 1e-17

    def _targets(self, y: Array) -> Array:
        """Standardised, (N, C)."""
        if y.shape[1:] != self._columns:
            raise ValueError(f"y: expected targets {_shape(self._columns)} as before, got {_shape(y.shape[1:])}")
        return (y.reshape(len(y), -1) - self.target_mean_) / self.target_std_

    def _outputs(self) -> int:
        return len(self.target_mean_)


def _shape(columns: tuple[int, ...]) -> str:
    return f"(N, {', '.join(map(str, columns))})" if columns else "(N,)"
