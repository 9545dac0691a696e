"""scikit-learn estimators on our network.

classifier.py   SigmoidClassifier: a softmax over classes
regressor.py    SigmoidRegressor: one number or several
base.py         what both do: their parameters, passes, early stopping, warm starts
penalty.py      the L2 penalty `alpha`
"""

try:
    import sklearn.base as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(f"minisig.bridges.sklearn needs scikit-learn: pip install 'minisig[sklearn]' ({error})") from None

from minisig.bridges.sklearn.classifier import SigmoidClassifier
from minisig.bridges.sklearn.regressor import SigmoidRegressor

__all__ = ["SigmoidClassifier", "SigmoidRegressor"]
