"""SigmoidClassifier among scikit-learn's own tools."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'minisig[sklearn]'")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minisig as ms
from minisig.bridges.sklearn import SigmoidClassifier
from minisig.data import load_file


@pytest.fixture(scope="module")
def deep(digits):
    return SigmoidClassifier([100] * 8, max_iter=25, random_state=0).fit(digits.train.x, digits.train.y)


def test_eight_layers_learn_where_scikit_learns_own_do_not(deep, digits):
    assert deep.score(digits.test.x, digits.test.y) > 0.9
    theirs = MLPClassifier([100] * 8, activation="logistic", batch_size=50, max_iter=6, random_state=0)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        theirs.fit(digits.train.x, digits.train.y)
    assert theirs.score(digits.test.x, digits.test.y) < 0.3


def test_gradient_norms_tell_a_living_network_from_a_dead_one(deep, digits):
    assert list(deep.gradient_norms_) == [f"dense{i}" for i in range(9)]
    assert {len(norms) for norms in deep.gradient_norms_.values()} == {25} == {len(deep.loss_curve_)}
    first = [norms[0] for norms in deep.gradient_norms_.values()]
    assert max(first) < 4 * min(first)
    dead = SigmoidClassifier([100] * 8, init="lecun", max_iter=1, random_state=0).fit(digits.train.x, digits.train.y)
    assert dead.gradient_norms_["dense0"][0] < 1e-4 * dead.gradient_norms_["dense8"][0]


def test_probabilities_are_the_networks_own(deep, digits):
    probabilities = deep.predict_proba(digits.test.x)
    z = deep.network_.forward(digits.test.x)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.log(probabilities) - np.log(probabilities[:, :1]), z - z[:, :1], atol=1e-3)
    assert ms.vanishing_bounds(deep.network_.trace(digits.test.x[:10], digits.test.y[:10])).rows


def test_the_same_random_state_gives_the_same_fit(digits):
    few = SigmoidClassifier([20], max_iter=3, random_state=7).fit(digits.train.x, digits.train.y)
    assert few.n_iter_ == 3
    again = SigmoidClassifier([20], max_iter=3, random_state=7).fit(digits.train.x, digits.train.y)
    assert again.loss_curve_ == few.loss_curve_
    assert few.loss_curve_ == sorted(few.loss_curve_, reverse=True)
    other = SigmoidClassifier([20], max_iter=3, random_state=8).fit(digits.train.x, digits.train.y)
    assert other.loss_curve_ != few.loss_curve_


def test_a_grid_search_over_init_finds_ep(digits):
    x, y = digits.train.x[:400], digits.train.y[:400]
    search = GridSearchCV(
        SigmoidClassifier([40] * 6, max_iter=30, learning_rate=0.02, random_state=0),
        {"init": ["lecun", "random+ep"], "batch_size": np.array([50])},
        cv=2,
    ).fit(x, y)
    assert search.best_params_ == {"init": "random+ep", "batch_size": 50}


def test_it_works_in_a_pipeline_cross_validated_cloned_and_pickled(digits):
    x, labels = digits.train.x[:300], np.array(list("abcdefghij"))[digits.train.y[:300]]
    pipeline = make_pipeline(StandardScaler(), SigmoidClassifier(max_iter=20, random_state=0))
    assert cross_val_score(pipeline, x, labels, cv=2).min() > 0.6
    fitted = clone(pipeline).fit(x, labels)
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.predict_proba(x), fitted.predict_proba(x))
    assert set(back.predict(x)) <= set("abcdefghij")
    back[-1].partial_fit(back[:-1].transform(x), labels)  # what it needs to go on was pickled as well
    assert back[-1].n_iter_ == 21


def test_pandas_frames_keep_their_names(digits):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(digits.train.x[:200], columns=[f"pixel{i}" for i in range(64)])
    labels = pandas.Series(digits.train.y[:200]).map("class {}".format)
    classifier = SigmoidClassifier(max_iter=2, random_state=0).fit(frame, labels)
    assert list(classifier.feature_names_in_) == list(frame.columns)
    assert set(classifier.predict(frame)) <= set(labels)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame.rename(columns={"pixel0": "other"}))


def test_columns_of_any_size_are_scaled_and_those_within_one_left_alone(digits):
    x, y = digits.train.x[:300], digits.train.y[:300]
    factors = np.random.default_rng(0).uniform(10, 1e6, 64)
    varied = np.ptp(x, axis=0) == 2  # of which the training data show the whole range
    plain = SigmoidClassifier(max_iter=3, random_state=0).fit(x[:, varied], y)
    assert plain.scale(x) is x
    scaled = SigmoidClassifier(max_iter=3, random_state=0).fit((1000 + x * factors)[:, varied].astype(np.float32), y)
    np.testing.assert_allclose(scaled.scale((1000 + x * factors)[:, varied]), x[:, varied], atol=1e-2)
    np.testing.assert_allclose(scaled.loss_curve_, plain.loss_curve_, rtol=0.02)


def test_before_a_fit_there_is_no_scale():
    with pytest.raises(NotFittedError):
        SigmoidClassifier().scale(np.zeros((2, 3)))


def test_partial_fit_goes_on_where_it_was(digits):
    x, y = digits.train.x[:500], digits.train.y[:500]
    classifier = SigmoidClassifier([50, 50], random_state=0)
    with pytest.raises(ValueError, match="needs all labels"):
        classifier.partial_fit(x, y)
    for _ in range(20):
        classifier.partial_fit(x, y, classes=np.arange(10))
    assert classifier.n_iter_ == len(classifier.loss_curve_) == 20
    assert classifier.loss_curve_[-1] < 0.5 * classifier.loss_curve_[0]
    assert classifier.score(digits.test.x, digits.test.y) > 0.7
    classifier.partial_fit(x[:1], y[:1])  # a single example will do, once the statistics are known
    with pytest.raises(ValueError, match=r"not in classes: \[77\]"):
        classifier.partial_fit(x[:2], [1, 77])
    for other in (np.arange(11), list("abcdefghij")):
        with pytest.raises(ValueError, match=r"classes: .* those of the first call, \[0 1 2 3 4 5 6 7 8 9\]; got"):
            classifier.partial_fit(x, y, classes=other)
    assert classifier.n_iter_ == 21


def test_a_class_may_come_after_the_first_partial_fit(digits):
    x, y = digits.train.x[:500], digits.train.y[:500]
    classifier = SigmoidClassifier([50], random_state=0).partial_fit(x[y < 5], y[y < 5], classes=np.arange(10))
    for _ in range(20):
        classifier.partial_fit(x, y)
    assert set(classifier.predict(x)) == set(range(10))


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_passes_one_by_one_are_a_fit(digits, optimizer):
    """With all examples in one batch only its order differs; what the optimizer remembers must not get lost."""
    x, y = digits.train.x[:40].astype(np.float64), digits.train.y[:40]
    whole = SigmoidClassifier([20], optimizer=optimizer, max_iter=10, random_state=0).fit(x, y)
    parts = SigmoidClassifier([20], optimizer=optimizer, random_state=0)
    for _ in range(10):
        parts.partial_fit(x, y, classes=np.unique(y))
    np.testing.assert_allclose(parts.predict_proba(x), whole.predict_proba(x), rtol=1e-9)


def test_early_stopping_ends_and_keeps_the_weights_that_validated_best(digits):
    x, y = digits.train.x[:300], digits.train.y[:300]
    options = {"learning_rate": 0.2, "max_iter": 200, "n_iter_no_change": 5, "random_state": 0}
    classifier = SigmoidClassifier([30], early_stopping=True, validation_fraction=0.3, **options).fit(x, y)
    losses = classifier.validation_losses_
    assert len(losses) == classifier.n_iter_ < 200
    assert np.argmin(losses) == len(losses) - 1 - 5
    held_out = classifier_held_out_loss(classifier, x, y)
    assert held_out == pytest.approx(min(losses), rel=1e-5)


def classifier_held_out_loss(classifier, x, y):
    """Of the rows that fit held out, found by drawing the same numbers again."""
    from sklearn.model_selection import train_test_split

    random = np.random.RandomState(classifier.random_state)
    random.randint(2**31 - 1)  # the seed of the weights
    _, x_valid, _, y_valid = train_test_split(x, y, test_size=0.3, random_state=random, stratify=y)
    return -np.log(classifier.predict_proba(x_valid)[np.arange(len(y_valid)), y_valid]).mean()


def test_dropout_and_adam_are_ours(digits):
    x, y = digits.train.x[:300], digits.train.y[:300]
    plain = SigmoidClassifier([30], max_iter=2, optimizer="adam", random_state=0).fit(x, y)
    dropped = SigmoidClassifier([30], max_iter=2, optimizer="adam", dropout=0.5, random_state=0).fit(x, y)
    assert [*dropped.network_.layers] == ["dense0", "sigmoid0", "dropout0", "dense1"]
    assert dropped.loss_curve_ != plain.loss_curve_
    np.testing.assert_array_equal(dropped.predict_proba(x), dropped.predict_proba(x))  # masks only while training


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "lecum"}, "unknown network.init 'lecum'. Did you mean 'lecun'?"),
        ({"hidden_layer_sizes": (5, 0)}, "hidden"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"optimizer": "sdg"}, "optimizer"),
        ({"dropout": 1.0}, "dropout"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 2.5}, "max_iter"),
        ({"early_stopping": True, "n_iter_no_change": 0}, "n_iter_no_change: expected .* at least 1; got 0"),
        ({"early_stopping": True, "n_iter_no_change": -1}, "n_iter_no_change"),
        ({"early_stopping": True, "n_iter_no_change": 2.5}, "n_iter_no_change"),
        ({"early_stopping": True, "validation_fraction": 0.0}, "validation_fraction: expected .*; got 0.0"),
        ({"early_stopping": True, "validation_fraction": 1}, "validation_fraction: expected"),
        ({"early_stopping": True, "validation_fraction": "some"}, "validation_fraction: expected"),
    ],
)
def test_a_wrong_parameter_is_named(digits, options, message):
    with pytest.raises(ValueError, match=message):
        SigmoidClassifier(**options).fit(digits.train.x[:50], digits.train.y[:50])


def test_columns_are_scaled_as_those_of_a_file_are(tmp_path):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(3, 9, 60), np.full(60, 7.0), rng.uniform(-1, 1, 60)])  # the second is constant
    y = np.arange(60) % 2
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=y, x_valid=x, y_valid=y, x_test=x, y_test=y)
    classifier = SigmoidClassifier(max_iter=1, random_state=0).fit(x, y)
    expected = load_file(tmp_path / "mine.npz").train.x
    np.testing.assert_allclose(classifier.scale(x), expected, atol=1e-6)
    assert not expected[:, 1].any()
