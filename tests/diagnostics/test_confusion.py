"""Which classes are taken for which, counted as scikit-learn counts them."""

import numpy as np
import pytest

from minisig.diagnostics.confusion import confused, per_class

CLASSES = 5


@pytest.fixture(params=[0, 1, 2])
def answered(request):
    """Labels and answers, among which a class that never comes and one that is never answered."""
    rng = np.random.default_rng(request.param)
    return rng.choice([0, 1, 2, 4], 200), rng.choice([0, 1, 3, 4], 200)


def test_counts_are_those_of_scikit_learn(answered):
    metrics = pytest.importorskip("sklearn.metrics")
    expected = metrics.confusion_matrix(*answered, labels=range(CLASSES))
    np.testing.assert_array_equal(confused(*answered, CLASSES), expected)


def test_counts_are_those_of_a_loop(answered):
    expected = np.zeros((CLASSES, CLASSES), int)
    for truth, answer in zip(*answered, strict=True):
        expected[truth, answer] += 1
    np.testing.assert_array_equal(confused(*answered, CLASSES), expected)


def test_precision_and_recall_are_those_of_scikit_learn_and_none_where_there_are_none(answered):
    metrics = pytest.importorskip("sklearn.metrics")
    precision, recall, _, rows = metrics.precision_recall_fscore_support(
        *answered, labels=range(CLASSES), zero_division=np.nan
    )
    found = per_class(confused(*answered, CLASSES), "abcde")
    assert [one["class"] for one in found] == [*"abcde"]
    assert [one["rows"] for one in found] == rows.tolist()
    for name, expected in (("precision", precision), ("recall", recall)):
        values = [np.nan if one[name] is None else one[name] for one in found]
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert found[3]["recall"] is found[2]["precision"] is None


def test_nothing_answered_is_a_matrix_of_zeros():
    nothing = np.array([], dtype=np.int64)
    assert confused(nothing, nothing, 3).tolist() == [[0] * 3] * 3
