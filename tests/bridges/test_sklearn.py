import pytest

pytest.importorskip("sklearn", reason="needs minisig[sklearn]")
from sklearn.utils.estimator_checks import parametrize_with_checks

from minisig.bridges.sklearn import SigmoidClassifier


@parametrize_with_checks([SigmoidClassifier()])
def test_checks(estimator, check):
    check(estimator)
