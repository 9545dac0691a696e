"""Softmax cross-entropy, the training objective of every experiment: the mean over all N predictions.

loss   L = −(1/N) Σ_i ln p_i[label_i],   p = softmax(z)
dz       = (p − onehot(labels)) / N
"""

from minisig.backends import Array, Backend
from minisig.errors import UsageError
from minisig.gradients import rows


def softmax_cross_entropy(z: Array, labels: Array, backend: Backend) -> tuple[Array, Array]:
    """(L, dz) from logits z (…, C) and labels (…); L stays on the device."""
    require_labels(z, labels, backend)
    losses, dz = backend.softmax_cross_entropy(rows(z), labels.reshape(-1))
    return losses.mean(), dz.reshape(z.shape)


def require_labels(z: Array, labels: Array, backend: Backend) -> None:
    """One integer 0 … C − 1 for each of the predictions z (…, C)."""
    if labels.shape != z.shape[:-1]:
        raise UsageError(f"expected labels of shape {z.shape[:-1]}, one for each prediction, got {labels.shape}")
    if labels.dtype.kind not in "iu" or not backend.within(labels, z.shape[-1]):
        reach = f" from {labels.min()} to {labels.max()}" if labels.dtype.kind in "iuf" else ""
        raise UsageError(f"expected labels that are integers from 0 to {z.shape[-1] - 1}, got {labels.dtype}{reach}")
