"""What SigmoidClassifier and SigmoidRegressor share: weights, alpha, activations, warm starts, lines of progress."""

import inspect
import re

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'minisig[sklearn]'")
from sklearn.neural_network import MLPClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from minisig.bridges.sklearn import SigmoidClassifier, SigmoidRegressor

N = 60
both = pytest.mark.parametrize("kind", [SigmoidClassifier, SigmoidRegressor])


# Not one of them is exempted: with all examples in one batch, as here, weights are equivalent to repeated rows.
@parametrize_with_checks([SigmoidClassifier(), SigmoidRegressor()])
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def x():
    return np.random.default_rng(0).uniform(-1, 1, (N, 4))


def targets(kind, x):
    score = x @ [1, -1, 2, 0.5]
    return np.digitize(score, [-1, 1]) if kind is SigmoidClassifier else 100 + 10 * score


def weights():
    return np.random.default_rng(1).uniform(0.1, 4, N)


def outputs(estimator, x):
    return estimator.predict_proba(x) if isinstance(estimator, SigmoidClassifier) else estimator.predict(x)


def losses(estimator, x, y):
    """(N,): of each example."""
    if isinstance(estimator, SigmoidClassifier):
        return -np.log(estimator.predict_proba(x)[np.arange(len(y)), y])
    return ((estimator.predict(x) - y) / estimator.target_std_) ** 2


@both
@pytest.mark.parametrize("options", [{}, {"optimizer": "adam"}, {"init": "glorot", "activation": "tanh"}])
def test_in_one_batch_a_weight_is_equivalent_to_repeated_rows(kind, options, x):
    y, counts = targets(kind, x), np.random.default_rng(1).integers(0, 4, N)
    x = 5 + 3 * x  # to be scaled
    x[counts.argmin()] = 1000.0  # of weight 0: it must not even be scaled with
    options = {"hidden_layer_sizes": [8], "batch_size": 1000, "max_iter": 10, "random_state": 0} | options
    weighted = kind(**options).fit(x, y, sample_weight=counts)
    repeated = kind(**options).fit(x.repeat(counts, axis=0), y.repeat(counts))
    counting = counts > 0
    np.testing.assert_allclose(outputs(weighted, x[counting]), outputs(repeated, x[counting]), rtol=1e-9)
    np.testing.assert_allclose(weighted.loss_curve_, repeated.loss_curve_, rtol=1e-9)
    plain = kind(**options).fit(x[counting], y[counting])
    assert not np.allclose(weighted.loss_curve_, plain.loss_curve_, rtol=1e-3)


@both
def test_only_the_proportions_of_weights_matter(kind, x):
    y, options = targets(kind, x), {"max_iter": 3, "batch_size": 7, "random_state": 0}
    plain = kind(**options).fit(x, y, weights())
    np.testing.assert_allclose(kind(**options).fit(x, y, 1e5 * weights()).loss_curve_, plain.loss_curve_, rtol=1e-9)
    equal = kind(**options).fit(x, y, 3.0)
    np.testing.assert_allclose(equal.loss_curve_, kind(**options).fit(x, y).loss_curve_, rtol=1e-9)


@both
@pytest.mark.parametrize("batch_size", [N, 10])
def test_the_loss_of_a_pass_is_the_weighted_mean(kind, batch_size, x):
    y = targets(kind, x)
    still = kind([8], learning_rate=1e-12, batch_size=batch_size, max_iter=1, random_state=0)
    still.fit(x, y, weights())
    expected = np.average(losses(still, x, y), weights=weights())
    assert still.loss_curve_ == [pytest.approx(expected, rel=1e-8)]
    still.partial_fit(x[:30], y[:30], sample_weight=weights()[30:])
    expected = np.average(losses(still, x[:30], y[:30]), weights=weights()[30:])
    assert still.loss_curve_[1] == pytest.approx(expected, rel=1e-8)


@both
def test_with_weights_and_alpha_the_first_partial_fit_is_a_fit_of_one_pass(kind, x):
    y, options = targets(kind, x), {"alpha": 0.5, "batch_size": N, "max_iter": 1, "random_state": 0}
    x[0], some = 1000.0, np.where(np.arange(N) == 0, 0.0, weights())
    fitted = kind(**options).fit(x, y, some)
    first = {"classes": np.unique(y)} if kind is SigmoidClassifier else {}
    begun = kind(**options).partial_fit(x, y, sample_weight=some, **first)
    assert begun._scaling is None  # the outlier is of weight 0
    np.testing.assert_array_equal(outputs(begun, x), outputs(fitted, x))


def test_classes_whose_examples_all_have_weight_0_remain_classes(x):
    y = targets(SigmoidClassifier, x)
    classifier = SigmoidClassifier([8], max_iter=30, learning_rate=0.1, random_state=0).fit(x, y, y != 1)
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.predict_proba(x).shape == (N, 3)
    assert classifier.predict_proba(x)[:, 1].mean() < 0.1


@both
@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        ([1.0, 2.0, 3.0], r"sample_weight.shape == \(3,\), expected \(60,\)"),
        (np.ones((N, 2)), "Sample weights must be 1D"),
        (np.full(N, -1.0), "Negative values in data passed to `sample_weight`"),
        (np.full(N, np.nan), "sample_weight contains NaN"),
        (np.zeros(N), "Sample weights must contain at least one non-zero number"),
    ],
)
def test_wrong_weights_are_refused(kind, sample_weight, message, x):
    with pytest.raises(ValueError, match=message):
        kind().fit(x, targets(kind, x), sample_weight)
    fitted = kind(max_iter=1).fit(x, targets(kind, x))
    with pytest.raises(ValueError, match=message):
        fitted.partial_fit(x, targets(kind, x), sample_weight=sample_weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_with_alpha_is_that_of_mlp_classifier(weighted, x):
    if weighted and "sample_weight" not in inspect.signature(MLPClassifier.fit).parameters:
        pytest.skip("this scikit-learn's MLPClassifier knows no weights")
    y = targets(SigmoidClassifier, x)
    options = {"hidden_layer_sizes": [5], "alpha": 4.0, "batch_size": N, "random_state": 0}
    plain = {"solver": "sgd", "momentum": 0.0, "nesterovs_momentum": False, "learning_rate_init": 0.1}
    theirs = MLPClassifier(activation="logistic", **plain, **options).partial_fit(x, y, classes=[0, 1, 2])
    ours = SigmoidClassifier(optimizer="sgd", learning_rate=0.1, **options).partial_fit(x, y, classes=[0, 1, 2])
    ours.network_.load(of_theirs(theirs))
    own = {"sample_weight": weights() / weights().mean()} if weighted else {}
    theirs.partial_fit(x, y, **own)
    ours.partial_fit(x, y, **own)
    for name, w in of_theirs(theirs).items():
        np.testing.assert_allclose(ours.network_.params[name], w, rtol=1e-9, atol=1e-12)
    assert ours.loss_curve_[-1] == pytest.approx(theirs.loss_, rel=1e-9)


def of_theirs(mlp):
    named = [(f"dense{i}.W", W) for i, W in enumerate(mlp.coefs_)]
    return dict(named + [(f"dense{i}.b", b) for i, b in enumerate(mlp.intercepts_)])


@both
def test_the_penalty_makes_weights_small(kind, x):
    y = targets(kind, x)
    norms = []
    for alpha in (0.0, 1.0, 10.0):
        net = kind([8], alpha=alpha, max_iter=100, random_state=0).fit(x, y).network_
        norms.append(sum((w**2).sum() for w in net.params.values() if w.ndim == 2))
    assert norms[0] > 1.2 * norms[1] > 2 * norms[2]


@both
def test_neither_weights_nor_alpha_are_left_in_the_network(kind, x):
    y = targets(kind, x)
    estimator = kind([8], alpha=1.0, max_iter=2, random_state=0).fit(x, y, weights())
    trace = estimator.network_.trace(x, estimator._targets(y))
    assert trace.loss == pytest.approx(losses(estimator, x, y).mean(), rel=1e-12)
    trace.sample_norms()  # the gradients are factored


@both
@pytest.mark.parametrize(("alpha", "got"), [(-1, "-1"), ("much", "'much'"), (float("nan"), "nan"), (np.inf, "inf")])
def test_a_wrong_alpha_is_refused(kind, alpha, got, x):
    with pytest.raises(ValueError, match=f"alpha: expected a number, at least 0; got {got}"):
        kind(alpha=alpha).fit(x, targets(kind, x))


@both
@pytest.mark.parametrize(
    ("activation", "init", "layer"),
    [
        ("relu", "lsuv", "relu0"),
        ("softplus", "glorot", "softplus0"),
        ("tanh", "random+ep", "tanh0"),
        ("scaled-tanh", "ortho+ep", "scaled_tanh0"),
    ],
)
def test_the_hidden_layers_have_the_activation_asked_for(kind, activation, init, layer, x):
    y = targets(kind, x)
    estimator = kind([20], activation=activation, init=init, max_iter=100, learning_rate=0.02, random_state=0).fit(x, y)
    assert [*estimator.network_.layers] == ["dense0", layer, "dense1"]
    assert estimator.score(x, y) > 0.8


@both
def test_an_activation_that_ep_is_not_for_is_refused_with_what_is(kind, x):
    with pytest.raises(ValueError, match=r"random\+ep .* and relu is none: choose lsuv, ortho, glorot or lecun"):
        kind(activation="relu").fit(x, targets(kind, x))
    with pytest.raises(ValueError, match=r"unknown network.activation 'logistic'. .*Choose from: sigmoid, scaled-tanh"):
        kind(activation="logistic").fit(x, targets(kind, x))


@both
def test_verbose_prints_a_line_a_pass(kind, x, capsys):
    y = targets(kind, x)
    kind(max_iter=3).fit(x, y)
    assert capsys.readouterr().out == ""
    estimator = kind(max_iter=3, verbose=True).fit(x, y)
    lines = [f"pass {i}: training loss {loss:.6f}" for i, loss in enumerate(estimator.loss_curve_, 1)]
    assert capsys.readouterr().out.splitlines() == lines
    estimator.partial_fit(x, y)
    assert re.fullmatch(r"pass 4: training loss \d\.\d{6}\n", capsys.readouterr().out)
    estimator.set_params(early_stopping=True).fit(x, y)
    both_losses = zip(estimator.loss_curve_, estimator.validation_losses_, strict=True)
    lines = [f"pass {i}: training loss {a:.6f}, validation loss {b:.6f}" for i, (a, b) in enumerate(both_losses, 1)]
    assert capsys.readouterr().out.splitlines() == lines


@both
def test_a_warm_start_goes_on_where_the_fit_before_ended(kind, x):
    """With all examples in one batch and an optimizer that remembers nothing, only rounding differs."""
    y, options = targets(kind, x), {"optimizer": "sgd", "batch_size": N, "learning_rate": 0.1, "random_state": 0}
    x = 5 + 3 * x
    whole = kind(max_iter=10, **options).fit(x, y)
    halves = kind(max_iter=5, warm_start=True, **options).fit(x, y).fit(x, y)
    np.testing.assert_allclose(outputs(halves, x), outputs(whole, x), rtol=1e-9)
    np.testing.assert_allclose(halves.loss_curve_, whole.loss_curve_, rtol=1e-9)
    assert halves.n_iter_ == len(halves.gradient_norms_["dense0"]) == 10
    anew = kind(max_iter=5, **options).fit(x, y).fit(x, y)
    assert anew.loss_curve_ == halves.loss_curve_[:5]
    other = kind(max_iter=5, warm_start=True, **options).fit(x, y).fit(x / 2, y)
    np.testing.assert_array_equal(other.scale(x), whole.scale(x))  # as the weights are used to


@both
def test_a_warm_start_takes_what_was_changed_about_the_training(kind, x):
    y = targets(kind, x)
    estimator = kind(max_iter=3, warm_start=True, random_state=0).fit(x, y)
    before = outputs(estimator, x)
    estimator.set_params(learning_rate=1e-12, optimizer="adam", alpha=1.0, init="lecun").fit(x, y)
    np.testing.assert_allclose(outputs(estimator, x), before, rtol=1e-6)
    assert estimator.loss_curve_[-1] > estimator.loss_curve_[2] + 1  # the penalty


@both
def test_every_warm_start_shuffles_anew(kind, x):
    """Else it would always leave out the same examples, those that do not fill a last batch."""
    estimator = kind(max_iter=1, warm_start=True, batch_size=40, learning_rate=1e-12, random_state=0)
    for _ in range(4):
        estimator.fit(x, targets(kind, x))
    assert len(set(np.round(estimator.loss_curve_, 6))) == 4


@both
@pytest.mark.parametrize("random_state", [0, np.random.RandomState(0), None])
def test_a_warm_start_holds_out_the_same_examples(kind, random_state, x):
    y = targets(kind, x)
    options = {"early_stopping": True, "warm_start": True, "validation_fraction": 0.3, "random_state": random_state}
    estimator = kind(max_iter=3, **options).fit(x, y)
    estimator.set_params(learning_rate=1e-12).fit(x, y).fit(x, y)
    best = min(estimator.validation_losses_[:3])
    np.testing.assert_allclose(estimator.validation_losses_[3:], best, rtol=1e-8)


@both
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_layer_sizes": [9]}, r"hidden_layer_sizes: .* made with \(8,\); got \(9,\); .* warm_start=False"),
        ({"activation": "tanh"}, "activation: .* made with sigmoid; got tanh"),
        ({"dropout": 0.5}, "dropout: .* made with 0.0; got 0.5"),
    ],
)
def test_a_warm_start_with_another_network_is_refused(kind, change, message, x):
    y = targets(kind, x)
    estimator = kind([8], max_iter=1, warm_start=True).fit(x, y).set_params(**change)
    with pytest.raises(ValueError, match=message):
        estimator.fit(x, y)
    estimator.set_params(warm_start=False).fit(x, y)


@both
def test_a_warm_start_on_data_of_another_shape_is_refused(kind, x):
    y = targets(kind, x)
    estimator = kind([8], max_iter=1, warm_start=True).fit(x, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but Sigmoid.* is expecting 4"):
        estimator.fit(x[:, :3], y)
    if kind is SigmoidRegressor:
        with pytest.raises(ValueError, match=r"y: expected targets \(N,\) as before, got \(N, 2\)"):
            estimator.fit(x, np.column_stack([y, y]))
    else:
        for other in (np.minimum(y, 1), y + 1):
            with pytest.raises(ValueError, match=r"y: warm_start .* classes of the fit before, \[0 1 2\]; got"):
                estimator.fit(x, other)
    assert estimator.n_iter_ == 1
