"""Softmax cross-entropy, the training objective of every experiment.

loss   L = −(1/B) Σ_i ln p_i[label_i],   p = softmax(z)
dz       = (p − onehot(labels)) / B
"""

from minisig.backends import Array, Backend


def softmax_cross_entropy(z: Array, labels: Array, backend: Backend) -> tuple[Array, Array]:
    """(L, dz) from logits z (B, C) and labels (B,); L stays on the device."""
    losses, dz = backend.softmax_cross_entropy(z, labels)
    return losses.mean(), dz
